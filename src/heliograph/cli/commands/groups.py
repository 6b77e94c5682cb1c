"""Groups of commands from several resources.

`heliograph account` has the ledger too; `heliograph admin` has tokens and the audit log too.
"""

from heliograph.app.resources.accounts import ACCOUNTS, LEDGER
from heliograph.app.resources.audit import AUDIT
from heliograph.app.resources.users import TOKENS, USERS
from heliograph.cli.drawn import command_of, group_of

account = group_of(ACCOUNTS)
account.add_command(command_of(LEDGER, LEDGER.operation("list"), name="ledger"))

admin = group_of(USERS)
admin.add_command(group_of(TOKENS))
admin.add_command(command_of(AUDIT, AUDIT.operation("list"), name="log"))
