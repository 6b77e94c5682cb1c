"""Pumping guard: what it holds, to be released or refunded."""

from heliograph.app.admin.guard import ManageGuard
from heliograph.app.records import Scope
from heliograph.console.request import PageRequest, PageResponse, PageRoute
from heliograph.domain.display import counted

PATH = "/guard"


def _manage(request: PageRequest) -> ManageGuard:
    return request.services.admin.guard.acting_as(request.actor.name, request.actor.address)


async def show(request: PageRequest) -> PageResponse:
    return request.page("guard.html", found=await _manage(request).holds())


async def release(request: PageRequest) -> PageResponse:
    account, prefix = request.form.get("account", ""), request.form.get("prefix", "")
    released = await _manage(request).release(account, prefix)
    return request.go(PATH, f"{counted(released, 'message')} of {account} to {prefix} are sent now.")


async def refund(request: PageRequest) -> PageResponse:
    account, prefix = request.form.get("account", ""), request.form.get("prefix", "")
    refunded = await _manage(request).refund(account, prefix)
    return request.go(PATH, f"{counted(refunded, 'message')} of {account} to {prefix} are cancelled and refunded.")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, show),
    PageRoute("POST", f"{PATH}/release", Scope.WRITE_MESSAGES, release),
    PageRoute("POST", f"{PATH}/refund", Scope.WRITE_MESSAGES, refund),
)
