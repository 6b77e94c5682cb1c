"""Templates of registries: kept by name, changed all or none."""

import pytest

from heliograph.app.configuration import Account, Exists, MessageTemplate, Missing
from heliograph.app.ports import Store

OTP = MessageTemplate(0, "otp", "Your code is {#numeric#}.\nHelio", "HELIO", 0, {"entity": "1101", "0x1401": "1107"})


async def _all(store: Store) -> list[MessageTemplate]:
    return (await store.network.tables()).templates


async def test_templates_are_kept_as_they_were_given_in_the_order_of_names(store: Store, account: Account) -> None:
    otp = await store.templates.add(OTP)
    bill = await store.templates.add(MessageTemplate(0, "Bill", "Grüße {#var#} नमस्ते", account=account.id))
    assert otp.id != bill.id
    assert await _all(store) == [bill, otp]
    with pytest.raises(Exists):
        await store.templates.add(MessageTemplate(0, "otp", "x"))
    assert await _all(store) == [bill, otp]


async def test_a_template_is_changed(store: Store, account: Account) -> None:
    otp, other = await store.templates.add(OTP), await store.templates.add(MessageTemplate(0, "other", "x"))
    changed = MessageTemplate(otp.id, "code", "y", "", account.id, {"a": "1"})
    await store.templates.update(changed)
    assert await _all(store) == [changed, other]
    with pytest.raises(Exists):
        await store.templates.update(MessageTemplate(otp.id, "other", "z"))
    with pytest.raises(Missing):
        await store.templates.update(MessageTemplate(99, "new", "z"))
    assert await _all(store) == [changed, other]


async def test_several_are_put_at_once_and_replace_those_of_their_names(store: Store, account: Account) -> None:
    otp = await store.templates.add(OTP)
    given = [MessageTemplate(0, "otp", "new", "NEW", account.id), MessageTemplate(0, "zeta", "z")]
    assert await store.templates.put(given) == 1
    first, second = await _all(store)
    assert first == MessageTemplate(otp.id, "otp", "new", "NEW", account.id)
    assert (second.name, second.text) == ("zeta", "z")
    assert await store.templates.put(given) == 0


async def test_none_is_put_where_one_is_of_no_account(store: Store) -> None:
    with pytest.raises(Missing):
        await store.templates.put([OTP, MessageTemplate(0, "x", "x", account=77)])
    with pytest.raises(Missing):
        await store.templates.add(MessageTemplate(0, "x", "x", account=77))
    assert await _all(store) == []


async def test_a_template_is_removed(store: Store) -> None:
    await store.templates.add(OTP)
    await store.templates.remove("otp")
    assert await _all(store) == []
    with pytest.raises(Missing):
        await store.templates.remove("otp")
