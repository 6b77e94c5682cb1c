"""Changes that take more than a session: the password again and, where there is a second factor, that, too.

Who found a console open, or stole its cookie, has neither. The form of the change is kept from step to step.
"""

from heliograph.app.admin.sign_in import SecondStep
from heliograph.console.request import FormProblem, PageRequest, PageResponse, passkey_answer, problem_of
from heliograph.domain.error import Fault

PROOFS = frozenset({"csrf", "old", "ticket", "code", "passkey"})
"""Fields of a form that prove who sends it; the others say what is to be done."""


async def unconfirmed(request: PageRequest, what: str, back: str) -> PageResponse | None:
    """Returns the page to go on with until the user has given all that a change takes; None once it is done.

    The page says `what` is to be done, and leads `back` who does not want to.
    """
    form, sign_in = request.form, request.services.admin.sign_in
    ticket, passkey = form.get("ticket", ""), form.get("passkey", "")
    if not ticket and "old" not in form:
        return await _page(request, what, back)
    try:
        if not ticket:
            await sign_in.confirm_fully(request.actor, form.get("old", ""))
        else:
            given = passkey_answer(request.host, passkey) if passkey else form.get("code", "")
            await sign_in.confirm_second(request.actor, ticket, given)
    except SecondStep as step:
        return await _page(request, what, back, step.ticket)
    except Fault as fault:
        return await _page(request, what, back, "" if fault.field == "ticket" else ticket, problem_of(fault))
    return None


async def _page(
    request: PageRequest, what: str, back: str, ticket: str = "", problem: FormProblem | None = None
) -> PageResponse:
    """Asks for the password, or with a ticket for the second factor."""
    sign_in = request.services.admin.sign_in
    options = await sign_in.passkey_options(ticket, request.host, request.actor) if ticket else None
    kept = [(name, text) for name, texts in request.forms.items() if name not in PROOFS for text in texts]
    proofs = [("csrf", request.actor.csrf), *([("ticket", ticket)] if ticket else [])]
    return request.page(
        "confirmation.html",
        status=200 if problem is None else 400,
        what=what,
        back=back,
        ticket=ticket,
        options=options,
        hidden=[*proofs, *kept],
        problem=problem,
    )
