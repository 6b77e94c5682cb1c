"""`app.ports.Templates`: texts that registries of operators have."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.adapters.store.shared.network import tables_changed
from heliograph.adapters.store.shared.rows import template_values
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, write
from heliograph.app.configuration import Exists, MessageTemplate, Missing


class StoredTemplates(Operations):
    # another change of a template waits for the revision, so no namesake can come in between

    @write
    def add(self, template: MessageTemplate) -> Steps[MessageTemplate]:
        yield tables_changed()
        yield from _check_account(template)
        added = yield Q.add_template(**template_values(template))
        if not added:
            raise Exists(f"there is a template {template.name} already")
        return replace(template, id=added[0][0])

    @write
    def update(self, template: MessageTemplate) -> Steps[None]:
        yield tables_changed()
        yield from _check_account(template)
        if (yield Q.template_namesake(id=template.id, name=template.name)):
            raise Exists(f"there is a template {template.name} already")
        if not (yield Q.update_template(**template_values(template), id=template.id)):
            raise Missing("no such template")

    @write
    def put(self, templates: Sequence[MessageTemplate]) -> Steps[int]:
        yield tables_changed()
        for account in {template.account: template for template in templates}.values():
            yield from _check_account(account)
        new = 0
        for template in templates:
            if not (yield Q.replace_template(**template_values(template))):
                yield Q.add_template(**template_values(template))
                new += 1
        return new

    @write
    def remove(self, name: str) -> Steps[None]:
        if not (yield Q.remove_template(name=name)):
            raise Missing("no such template")
        yield tables_changed()


def _check_account(template: MessageTemplate) -> Steps[None]:
    if template.account and not (yield Q.account_by_id(account=template.account)):
        raise Missing("no such account")
