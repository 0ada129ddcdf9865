"""The claims on scaling limits of one-pass SGD [U] [E]."""

from __future__ import annotations

from numerics.claims.ledger import Claim
from numerics.claims.sgd_critical import UN_CRITICAL
from numerics.claims.sgd_fluctuations import UN_FLUCTUATION, UN_VOLATILITY
from numerics.claims.sgd_ode import UN_ODE
from numerics.claims.sgd_universality import UN_ALIGNED, UN_UNIVERSAL

CLAIMS: tuple[Claim, ...] = (UN_ODE, UN_UNIVERSAL, UN_ALIGNED, UN_FLUCTUATION, UN_VOLATILITY, UN_CRITICAL)
