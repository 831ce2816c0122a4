"""The admin port: health, metrics, and what an operator asks of the cache.

commands     bodies and PURGE requests become scopes
guards       who may enter; every error as a problem
queries      parameters of URLs
page         the start page
trust        what is known of domains
records      what an operator decides of relocations
application  the routes
"""

from proxy.admin.application import build_admin
from proxy.admin.page import AdminState

__all__ = ["AdminState", "build_admin"]
