"""Links inside compiled kernels: a formula becomes a short list of instructions that one kernel runs on arrays.

The instructions work on whole rows of numbers, so that reading them costs little beside the arithmetic. No link needs
code of its own: nothing is generated, evaluated or compiled when a user types a formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numba
import numpy as np
import sympy
from numpy.typing import NDArray

from theory.errors import InputError
from theory.single_index.link import Link, X
from theory.softplus import Softplus

(
    _POLYNOMIAL,
    _ADD,
    _MULTIPLY,
    _POWER,
    _RECIPROCAL,
    _SQRT,
    _EXP,
    _LOG,
    _SIN,
    _COS,
    _TANH,
    _ERF,
    _ABS,
    _SIGN,
    _SOFTPLUS,
) = range(15)

_UNARY = {
    sympy.exp: _EXP,
    sympy.log: _LOG,
    sympy.sin: _SIN,
    sympy.cos: _COS,
    sympy.tanh: _TANH,
    sympy.erf: _ERF,
    sympy.Abs: _ABS,
    sympy.sign: _SIGN,
    Softplus: _SOFTPLUS,
}


@dataclass(frozen=True, eq=False)
class Program:
    """f and f′ as instructions on registers, each a row of numbers; row 0 holds the arguments.

    ``instructions`` has rows (operation, target, first operand, second operand), the operands being registers or places
    in ``constants``. After ``execute`` the rows ``value`` and ``slope`` hold f and f′.
    """

    instructions: NDArray[np.int64]
    constants: NDArray[np.float64]
    registers: int
    value: int
    slope: int


@lru_cache(maxsize=64)
def compile_link(link: Link) -> Program:
    """The program of a link and its derivative; polynomials become Horner's scheme.

    >>> program = compile_link(Link.parse("x**3 - 3*x"))
    >>> rows = np.zeros((program.registers, 2))
    >>> rows[0] = 0.0, 2.0
    >>> execute(program.instructions, program.constants, rows)
    >>> rows[program.value].tolist(), rows[program.slope].tolist()
    ([0.0, 2.0], [-3.0, 9.0])

    Raises ``InputError`` for a formula with a function that kernels do not know.
    """
    compiler = _Compiler(link.text)
    value = compiler.register(link.expression)
    slope = compiler.register(link.derivative_expression)
    instructions = np.array(compiler.instructions, dtype=np.int64).reshape(-1, 4)
    constants = np.array(compiler.constants or [0.0])
    instructions.setflags(write=False)
    constants.setflags(write=False)
    return Program(instructions, constants, compiler.registers, value, slope)


class _Compiler:
    """Assigns a register to every distinct subexpression, in the order of evaluation."""

    def __init__(self, text: str) -> None:
        self.instructions: list[tuple[int, int, int, int]] = []
        self.constants: list[float] = []
        self.registers = 1
        self._text = text
        self._known: dict[sympy.Expr, int] = {X: 0}

    def register(self, expression: sympy.Expr) -> int:
        if expression not in self._known:
            self._known[expression] = self._emit(expression)
        return self._known[expression]

    def _emit(self, expression: sympy.Expr) -> int:
        if expression.is_polynomial(X):
            return self._polynomial(0, [float(c) for c in reversed(sympy.Poly(expression, X).all_coeffs())])
        if expression.is_Add or expression.is_Mul:
            number, rest = expression.as_coeff_Add() if expression.is_Add else expression.as_coeff_Mul()
            if number != (0 if expression.is_Add else 1):
                scale = [float(number), 1.0] if expression.is_Add else [0.0, float(number)]
                return self._polynomial(self.register(rest), scale)
            operation = _ADD if expression.is_Add else _MULTIPLY
            first, *others = [self.register(argument) for argument in expression.args]
            for other in others:
                first = self._append(operation, first, other)
            return first
        if expression.is_Pow:
            return self._power(expression.base, expression.exp)
        operation = _UNARY.get(expression.func, -1)
        if operation < 0:
            raise InputError(
                "link",
                given=self._text,
                expected=f"functions that kernels know, not {expression.func.__name__}",
                remedy="use exp, log, sin, cos, tanh, erf, abs, sqrt and powers",
            )
        return self._append(operation, self.register(expression.args[0]))

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> int:
        if not exponent.is_number:
            return self._append(_EXP, self.register(exponent * sympy.log(base)))
        if exponent.is_Integer and exponent > 0:
            return self._polynomial(self.register(base), [0.0] * int(exponent) + [1.0])
        if exponent.is_negative:
            return self._append(_RECIPROCAL, self.register(base**-exponent))
        if exponent == sympy.Rational(1, 2):
            return self._append(_SQRT, self.register(base))
        argument = self.register(base)
        self.constants.append(float(exponent))
        return self._append(_POWER, argument, len(self.constants) - 1)

    def _polynomial(self, argument: int, coefficients: list[float]) -> int:
        """Coefficients from the constant term up; stored as length, then coefficients from the highest down."""
        start = len(self.constants)
        self.constants += [float(len(coefficients)), *reversed(coefficients)]
        return self._append(_POLYNOMIAL, argument, start)

    def _append(self, operation: int, first: int, second: int = 0) -> int:
        target = self.registers
        self.registers += 1
        self.instructions.append((operation, target, first, second))
        return target


@numba.njit(cache=True, fastmath={"contract"}, error_model="numpy")
def execute(instructions: NDArray[np.int64], constants: NDArray[np.float64], registers: NDArray[np.float64]) -> None:
    """Run a program: fill the rows of ``registers`` from its row 0."""
    width = registers.shape[1]
    for k in range(instructions.shape[0]):
        operation = instructions[k, 0]
        target = registers[instructions[k, 1]]
        first = registers[instructions[k, 2]]
        second = instructions[k, 3]
        if operation == _POLYNOMIAL:
            for i in range(width):
                target[i] = constants[second + 1]
            for j in range(2, int(constants[second]) + 1):
                c = constants[second + j]
                for i in range(width):
                    target[i] = target[i] * first[i] + c
        elif operation == _ADD:
            other = registers[second]
            for i in range(width):
                target[i] = first[i] + other[i]
        elif operation == _MULTIPLY:
            other = registers[second]
            for i in range(width):
                target[i] = first[i] * other[i]
        elif operation == _POWER:
            for i in range(width):
                target[i] = first[i] ** constants[second]
        elif operation == _RECIPROCAL:
            for i in range(width):
                target[i] = 1.0 / first[i]
        elif operation == _SQRT:
            for i in range(width):
                target[i] = math.sqrt(first[i])
        elif operation == _EXP:
            for i in range(width):
                target[i] = math.exp(first[i])
        elif operation == _LOG:
            for i in range(width):
                target[i] = math.log(first[i])
        elif operation == _SIN:
            for i in range(width):
                target[i] = math.sin(first[i])
        elif operation == _COS:
            for i in range(width):
                target[i] = math.cos(first[i])
        elif operation == _TANH:
            for i in range(width):
                target[i] = math.tanh(first[i])
        elif operation == _ERF:
            for i in range(width):
                target[i] = math.erf(first[i])
        elif operation == _ABS:
            for i in range(width):
                target[i] = abs(first[i])
        elif operation == _SOFTPLUS:
            for i in range(width):
                target[i] = max(first[i], 0.0) + math.log1p(math.exp(-abs(first[i])))
        else:
            for i in range(width):
                target[i] = np.sign(first[i])
