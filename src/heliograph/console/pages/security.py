"""One's own second factors and recovery codes."""

from heliograph.app.admin.sign_in import SecondStep
from heliograph.app.records import Scope
from heliograph.console.qr_code import drawn
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    passkey_answer,
    problem_of,
)
from heliograph.domain.error import Fault


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    factors, codes = await request.factors.of(request.actor.plain_name)
    return request.page(
        "security.html",
        status=200 if problem is None else 400,
        factors=factors,
        codes=codes,
        problem=problem,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def _unconfirmed(request: PageRequest) -> PageResponse | None:
    """Returns the page to go on with as long as the user has not given the password and, where there is a second
    factor, that, too: a code or a passkey's answer, in a second step as when signing in. None once it is done."""
    form, sign_in = request.form, request.services.admin.sign_in
    ticket, passkey = form.get("ticket", ""), form.get("passkey", "")
    try:
        if not ticket:
            await sign_in.confirm_fully(request.actor, form.get("old", ""))
        else:
            given = passkey_answer(request.host, passkey) if passkey else form.get("code", "")
            await sign_in.confirm_second(request.actor, ticket, given)
    except SecondStep as step:
        return await _second_step(request, step.ticket)
    except Fault as fault:
        if ticket and fault.field != "ticket":
            return await _second_step(request, ticket, problem_of(fault))
        return await show(request, problem_of(fault))
    return None


async def _second_step(request: PageRequest, ticket: str, problem: FormProblem | None = None) -> PageResponse:
    options = await request.services.admin.sign_in.passkey_options(ticket, request.host, request.actor)
    factor = {"factor": request.form["factor"]} if "factor" in request.form else {}
    return request.page(
        "security_code.html",
        status=200 if problem is None else 400,
        options=options,
        hidden={"csrf": request.actor.csrf, "ticket": ticket} | factor,
        problem=problem,
    )


async def begin(request: PageRequest) -> PageResponse:
    if (page := await _unconfirmed(request)) is not None:
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
    if (page := await _unconfirmed(request)) is not None:
        return page
    options, ticket = await request.factors.begin_passkey(request.actor.plain_name, request.host)
    return request.page("security_passkey.html", options=options, ticket=ticket, problem=None)


async def confirm_passkey(request: PageRequest) -> PageResponse:
    form = request.form
    given = passkey_answer(request.host, form.get("passkey", ""))
    try:
        codes = await request.factors.confirm_passkey(
            request.actor.plain_name, form.get("ticket", ""), given, form.get("title", "")
        )
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    if not codes:
        return request.go("/security", "The passkey is added.")
    return request.page("recovery_codes.html", codes=codes)


async def remove(request: PageRequest) -> PageResponse:
    if (page := await _unconfirmed(request)) is not None:
        return page
    try:
        await request.factors.remove(request.actor.plain_name, request.form.get("factor", ""))
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go("/security", "It is removed.")


async def new_codes(request: PageRequest) -> PageResponse:
    if (page := await _unconfirmed(request)) is not None:
        return page
    try:
        codes = await request.factors.new_codes(request.actor.plain_name)
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.page("recovery_codes.html", codes=codes)


PAGES = (
    PageRoute("GET", "/security", Scope.READ_MESSAGES, show_page),
    PageRoute("POST", "/security/app", Scope.READ_MESSAGES, begin),
    PageRoute("POST", "/security/confirm", Scope.READ_MESSAGES, confirm),
    PageRoute("POST", "/security/passkey", Scope.READ_MESSAGES, begin_passkey),
    PageRoute("POST", "/security/passkey-confirm", Scope.READ_MESSAGES, confirm_passkey),
    PageRoute("POST", "/security/remove", Scope.READ_MESSAGES, remove),
    PageRoute("POST", "/security/codes", Scope.READ_MESSAGES, new_codes),
)
