"""People and tokens: users, tokens, and the user's own password."""

from heliograph.app.records import TOKEN_SCOPES, Scope, UserRole
from heliograph.app.resources.users import TOKENS, USERS
from heliograph.app.resources.users import set_password as set_password_of
from heliograph.console.confirmation import unconfirmed
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute
from heliograph.domain.error import CONFLICT, Fault

PAGE = 50


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    return request.page(
        "users.html",
        status=200 if problem is None else 400,
        users=await request.desk.store.users.all(),
        tokens=await request.desk.store.tokens.all(),
        roles=list(UserRole),
        scopes=list(TOKEN_SCOPES),
        form=request.form,
        chosen=request.forms.get("scope", []),
        problem=problem,
    )


async def _unconfirmed(request: PageRequest, what: str) -> PageResponse | None:
    """Asks for the password and second factor before a change of users or tokens.

    Otherwise a stolen session could add a user for itself, and remove the second factors of other users.
    """
    return await unconfirmed(request, what, "/people")


async def create(request: PageRequest) -> PageResponse:
    name, role = request.form.get("name", ""), request.form.get("role", "")
    if (page := await _unconfirmed(request, "Add a user")) is not None:
        return page
    made = await request.ask(USERS, "create", {"name": name, "role": role})
    return _show_secrets(request, f"{name} may sign in as {role}", [("Password", made["password"], f"of {name}")])


def _show_secrets(request: PageRequest, title: str, secrets: list[tuple[str, str, str]]) -> PageResponse:
    return request.page("secrets.html", title=title, secrets=secrets, back="/people", back_name="People")


def _another(request: PageRequest) -> str:
    """Returns the user that the form names. Raises Fault for the visitor's own name, so that admins cannot lock
    themselves out."""
    name = request.form.get("name", "")
    if name == request.actor.plain_name:
        raise Fault(CONFLICT, "You cannot change your own user here. Ask another admin, or use the command line.")
    return name


async def set_role(request: PageRequest) -> PageResponse:
    name, role = _another(request), request.form.get("role", "")
    if (page := await _unconfirmed(request, f"Set the role of {name}")) is not None:
        return page
    await request.ask(USERS, "set-role", {"name": name, "role": role})
    return request.go("/people", f"{name} has the role {role} now, and must sign in again.")


async def set_password(request: PageRequest) -> PageResponse:
    name = _another(request)
    if (page := await _unconfirmed(request, f"New password of {name}")) is not None:
        return page
    made = await request.ask(USERS, "set-password", {"name": name})
    return _show_secrets(request, f"{name} has a new password", [("Password", made["password"], f"of {name}")])


async def remove(request: PageRequest) -> PageResponse:
    name = _another(request)
    if (page := await _unconfirmed(request, f"Remove {name}")) is not None:
        return page
    await request.ask(USERS, "remove", {"name": name})
    return request.go("/people", f"{name} can no longer sign in.")


async def reset_second_factor(request: PageRequest) -> PageResponse:
    name = _another(request)
    if (page := await _unconfirmed(request, f"Reset the second factor of {name}")) is not None:
        return page
    await request.ask(USERS, "reset-second-factor", {"name": name})
    return request.go("/people", f"{name} signs in with the password alone now.")


async def create_token(request: PageRequest) -> PageResponse:
    if (page := await _unconfirmed(request, "Create a token")) is not None:
        return page
    given = {
        "name": request.form.get("token_name", ""),
        "scopes": request.forms.get("scope") or None,
        "expires": request.form.get("expires", "").strip() or None,
    }
    made = await request.ask(TOKENS, "create", given)
    return _show_secrets(request, f"The token {made['name']}", [("Token", made["secret"], "for /admin/v1")])


async def revoke_token(request: PageRequest) -> PageResponse:
    await request.ask(TOKENS, "revoke", {"id": request.form.get("token", "")})
    return request.go("/people", "The token is revoked.")


async def own_password(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    return request.page("password.html", status=200 if problem is None else 400, problem=problem)


async def change_own_password(request: PageRequest) -> PageResponse:
    form = request.form
    if form.get("new", "") != form.get("again", ""):
        return await own_password(request, FormProblem("The two new passwords differ.", "again"))
    await request.services.admin.sign_in.confirm(request.actor, form.get("old", ""))
    password = USERS.operation("set-password").reads[0].read(form.get("new", ""))
    await set_password_of(request.desk, request.actor.plain_name, password)
    return request.go("/sign-in")


PAGES = (
    PageRoute("GET", "/people", Scope.PEOPLE, show),
    PageRoute("POST", "/people/create", Scope.PEOPLE, create, again=show),
    PageRoute("POST", "/people/role", Scope.PEOPLE, set_role),
    PageRoute("POST", "/people/password", Scope.PEOPLE, set_password),
    PageRoute("POST", "/people/remove", Scope.PEOPLE, remove),
    PageRoute("POST", "/people/second-factor", Scope.PEOPLE, reset_second_factor),
    PageRoute("POST", "/people/tokens", Scope.PEOPLE, create_token, again=show),
    PageRoute("POST", "/people/tokens/revoke", Scope.PEOPLE, revoke_token),
    PageRoute("GET", "/password", Scope.READ_MESSAGES, own_password),
    PageRoute("POST", "/password", Scope.READ_MESSAGES, change_own_password, again=own_password),
)
