"""What holds for every test.

On a clean checkout hypothesis first builds its tables of Unicode: whichever test asks for text first would be taken
for slow. How long an example takes says more of the machine than of what is tested.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("checkout", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("checkout")
