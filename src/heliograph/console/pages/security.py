"""The user's own second factors and recovery codes."""

from heliograph.app.records import Scope
from heliograph.console.confirmation import unconfirmed
from heliograph.console.qr_code import drawn
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    passkey_answer,
    problem_of,
    who_did,
)


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    factors, codes = await request.factors.of(request.actor.plain_name)
    reset = await request.factors.last_reset(request.actor.plain_name)
    return request.page(
        "security.html",
        status=200 if problem is None else 400,
        factors=factors,
        codes=codes,
        reset=reset,
        reset_by=who_did(reset.actor) if reset else "",
        problem=problem,
    )


async def begin(request: PageRequest) -> PageResponse:
    if (page := await unconfirmed(request, "Set up an app", "/security")) is not None:
        return page
    enrolment = request.factors.begin(request.actor.plain_name)
    return request.page("security_app.html", enrolment=enrolment, picture=drawn(enrolment.link), form={}, problem=None)


async def confirm(request: PageRequest) -> PageResponse:
    user, form = request.actor.plain_name, request.form
    ticket = form.get("ticket", "")
    try:
        codes = await request.factors.confirm(user, ticket, form.get("code", ""), form.get("title", ""))
    except Mistake as mistake:
        enrolment, problem = request.factors.again(user, ticket), problem_of(mistake)
        if enrolment is None:
            return await show(request, problem)
        picture = drawn(enrolment.link)
        return request.page(
            "security_app.html", status=400, enrolment=enrolment, picture=picture, form=form, problem=problem
        )
    if not codes:
        return request.go("/security", "The app is added.")
    return request.page("recovery_codes.html", codes=codes)


async def begin_passkey(request: PageRequest) -> PageResponse:
    if (page := await unconfirmed(request, "Create a passkey", "/security")) is not None:
        return page
    options, ticket = await request.factors.begin_passkey(request.actor.plain_name, request.host)
    return request.page("security_passkey.html", options=options, ticket=ticket, problem=None)


async def confirm_passkey(request: PageRequest) -> PageResponse:
    form = request.form
    given = passkey_answer(request.host, form.get("passkey", ""))
    codes = await request.factors.confirm_passkey(
        request.actor.plain_name, form.get("ticket", ""), given, form.get("title", "")
    )
    if not codes:
        return request.go("/security", "The passkey is added.")
    return request.page("recovery_codes.html", codes=codes)


async def remove(request: PageRequest) -> PageResponse:
    if (page := await unconfirmed(request, "Remove a second factor", "/security")) is not None:
        return page
    await request.factors.remove(request.actor.plain_name, request.form.get("factor", ""))
    return request.go("/security", "The second factor is removed.")


async def new_codes(request: PageRequest) -> PageResponse:
    if (page := await unconfirmed(request, "New recovery codes", "/security")) is not None:
        return page
    codes = await request.factors.new_codes(request.actor.plain_name)
    return request.page("recovery_codes.html", codes=codes)


PAGES = (
    PageRoute("GET", "/security", Scope.READ_MESSAGES, show),
    PageRoute("POST", "/security/app", Scope.READ_MESSAGES, begin),
    PageRoute("POST", "/security/confirm", Scope.READ_MESSAGES, confirm),
    PageRoute("POST", "/security/passkey", Scope.READ_MESSAGES, begin_passkey),
    PageRoute("POST", "/security/passkey-confirm", Scope.READ_MESSAGES, confirm_passkey, again=show),
    PageRoute("POST", "/security/remove", Scope.READ_MESSAGES, remove, again=show),
    PageRoute("POST", "/security/codes", Scope.READ_MESSAGES, new_codes, again=show),
)
