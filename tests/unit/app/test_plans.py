"""The resource of price plans."""

from typing import Any

import pytest

from heliograph.app.configuration import Price, Route
from heliograph.app.records import AuditQuery
from heliograph.app.resources import plans
from heliograph.app.resources.desk import Desk, NoSuch
from tests.support.gateway import open_gateway

DEFAULTS: dict[str, Any] = {
    "routing": "share",
    "min_margin": None,
    "unknown_cost": "allow",
    "min_quality": 0.85,
    "accounts": 0,
}


async def test_a_plan_has_the_defaults_until_it_has_rules() -> None:
    gateway = await open_gateway()
    desk = Desk(gateway.store, gateway.clock, "user:ada")
    await gateway.store.network.set_price(Price("gold", "49", 1))
    await gateway.store.network.add_route(Route(0, "49", 1, plan="silver"))
    rows = {each["name"]: each for each in await plans.find(desk)}
    accounts = len(await gateway.store.accounts.all())
    assert rows["default"].pop("accounts") == accounts > 0
    assert rows == {
        "default": {"name": "default", **{name: DEFAULTS[name] for name in DEFAULTS if name != "accounts"}},
        **{name: {"name": name, **DEFAULTS} for name in ("gold", "silver")},
    }
    changed = await plans.change(desk, "bronze", min_margin="10%", routing="best")
    assert changed.pop("note") == "No account has the plan bronze yet."
    assert changed == {"name": "bronze", **DEFAULTS, "min_margin": "10%", "routing": "best"}
    assert await plans.show(desk, "bronze") == changed
    await plans.change(desk, "bronze", min_margin=None)
    assert (await plans.show(desk, "bronze")) == changed | {"min_margin": None}
    await plans.reset(desk, "bronze")
    await plans.reset(desk, "gold")  # it has the defaults already
    with pytest.raises(NoSuch):
        await plans.reset(desk, "bronze")
    with pytest.raises(NoSuch):
        await plans.show(desk, "bronze")
    noted = [(each.action, each.details) for each in await gateway.store.audit_log.find(AuditQuery())]
    assert noted[:3] == [
        ("plan.reset", {}),
        ("plan.set", {"min_margin": "none"}),
        ("plan.set", {"min_margin": "10%", "routing": "best"}),
    ]


async def test_a_note_names_plans_without_accounts_and_the_plan_that_was_probably_meant() -> None:
    gateway = await open_gateway()
    desk = Desk(gateway.store, gateway.clock, "user:ada")
    assert await plans.unused_note(desk, ["default"]) == ""
    (account, _), *_ = await gateway.store.accounts.all()
    await gateway.store.accounts.update(account.id, {"plan": "resellers"})
    assert await plans.unused_note(desk, ["resellers", "default"]) == ""
    meant = "No account has the plan reselers yet; did you mean resellers?"
    assert await plans.unused_note(desk, ["reselers", "resellers"]) == meant
    assert await plans.unused_note(desk, ["silver"]) == "No account has the plan silver yet."
    await gateway.store.network.set_price(Price("reselers", "49", 1))  # named twice, so it is meant
    assert await plans.unused_note(desk, ["reselers"]) == "No account has the plan reselers yet."
    assert await plans.unused_note(desk, ["resellars"]) == meant.replace("reselers", "resellars")
    many = await plans.unused_note(desk, [f"tier.{number}" for number in range(9)])
    assert many.endswith("No account has the plan tier.4 yet. The same holds for 4 more plans.")
