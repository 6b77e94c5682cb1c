"""Who looks after the gateway: users, tokens, the audit log, one's own password."""

from heliograph.app.admin.oversight import TOKEN_SCOPES, AuditQuery, Role, Scope
from heliograph.console.visit import Mistake, Page, Problem, Reply, Visit, problem_of
from heliograph.domain.error import CONFLICT, Fault

PAGE = 50


async def show(visit: Visit, problem: Problem | None = None) -> Reply:
    return visit.page(
        "people.html",
        status=200 if problem is None else 400,
        users=await visit.staff.users(),
        tokens=await visit.staff.tokens(),
        roles=list(Role),
        scopes=list(TOKEN_SCOPES),
        form=visit.form,
        chosen=visit.forms.get("scope", []),
        problem=problem,
    )


async def show_page(visit: Visit) -> Reply:
    return await show(visit)


async def create(visit: Visit) -> Reply:
    name, role = visit.form.get("name", ""), visit.form.get("role", "")
    try:
        password = await visit.staff.create(name, role)
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    return _told(visit, f"{name} may sign in as {role}", [("Password", password, f"of {name}")])


def _told(visit: Visit, title: str, secrets: list[tuple[str, str, str]]) -> Reply:
    return visit.page("secrets.html", title=title, secrets=secrets, back="/people", back_name="People")


def _another(visit: Visit) -> str:
    """The user that is meant, who must be somebody else: nobody locks themselves out. Raises Fault."""
    name = visit.form.get("name", "")
    if name == visit.actor.plain_name:
        raise Fault(CONFLICT, "You cannot do that to yourself; ask another admin, or use the command line.")
    return name


async def set_role(visit: Visit) -> Reply:
    name, role = _another(visit), visit.form.get("role", "")
    await visit.staff.set_role(name, role)
    return visit.go("/people", f"{name} is {role} now, and has to sign in again.")


async def set_password(visit: Visit) -> Reply:
    name = _another(visit)
    password = await visit.staff.set_password(name)
    return _told(visit, f"{name} has a new password", [("Password", password, f"of {name}")])


async def remove(visit: Visit) -> Reply:
    name = _another(visit)
    await visit.staff.remove(name)
    return visit.go("/people", f"{name} can no longer sign in.")


async def create_token(visit: Visit) -> Reply:
    try:
        made = await visit.staff.create_token(visit.form.get("token_name", ""), visit.forms.get("scope", []))
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    return _told(visit, f"The token {made.token.name}", [("Token", made.secret, "for /admin/v1")])


async def revoke_token(visit: Visit) -> Reply:
    await visit.staff.revoke_token(visit.form.get("token", ""))
    return visit.go("/people", "The token is revoked.")


async def audit(visit: Visit) -> Reply:
    before = visit.query.get("before", "")
    query = AuditQuery(
        PAGE + 1,
        int(before) if before.isdigit() and len(before) < 19 else None,
        visit.query.get("actor", ""),
        visit.query.get("action", ""),
        visit.query.get("target", ""),
    )
    deeds = await visit.oversight.deeds(query)
    more = deeds[PAGE - 1].key if len(deeds) > PAGE else None
    return visit.page("audit.html", deeds=deeds[:PAGE], query=visit.query, more=more)


async def own_password(visit: Visit, problem: Problem | None = None) -> Reply:
    return visit.page("password.html", status=200 if problem is None else 400, problem=problem)


async def own_password_page(visit: Visit) -> Reply:
    return await own_password(visit)


async def change_own_password(visit: Visit) -> Reply:
    form = visit.form
    if form.get("new", "") != form.get("again", ""):
        return await own_password(visit, Problem("The two new passwords are not the same.", "again"))
    try:
        await visit.services.desk.access.confirm(visit.actor, form.get("old", ""))
        await visit.staff.set_password(visit.actor.plain_name, form.get("new", ""))
    except Mistake as mistake:
        return await own_password(visit, problem_of(mistake))
    return visit.go("/sign-in")


PAGES = (
    Page("GET", "/people", Scope.PEOPLE, show_page),
    Page("POST", "/people/create", Scope.PEOPLE, create),
    Page("POST", "/people/role", Scope.PEOPLE, set_role),
    Page("POST", "/people/password", Scope.PEOPLE, set_password),
    Page("POST", "/people/remove", Scope.PEOPLE, remove),
    Page("POST", "/people/tokens", Scope.PEOPLE, create_token),
    Page("POST", "/people/tokens/revoke", Scope.PEOPLE, revoke_token),
    Page("GET", "/audit", Scope.READ_AUDIT, audit),
    Page("GET", "/password", Scope.READ_MESSAGES, own_password_page),
    Page("POST", "/password", Scope.READ_MESSAGES, change_own_password),
)
