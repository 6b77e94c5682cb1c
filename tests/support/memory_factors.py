"""Second factors and recovery codes in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports.factors import SecondFactor
from tests.support.memory_rows import MemoryPart


class MemoryFactors(MemoryPart):
    """`app.ports.Factors`."""

    async def of(self, user: str) -> list[SecondFactor]:
        found = [replace(each) for each in self._place.staff().factors if each.user == user]
        return sorted(found, key=lambda each: (each.created, each.id))

    async def add(self, factor: SecondFactor, codes: Sequence[bytes]) -> None:
        staff = self._place.staff()
        if factor.user not in staff.users:
            raise Missing(factor.user)
        if any((each.user, each.id) == (factor.user, factor.id) for each in staff.factors):
            raise Exists(factor.id)
        staff.factors.append(replace(factor))
        if codes:
            staff.codes[factor.user] = set(codes)

    async def remove(self, user: str, factor: str) -> None:
        staff = self._place.staff()
        kept = [each for each in staff.factors if (each.user, each.id) != (user, factor)]
        if len(kept) == len(staff.factors):
            raise Missing(factor)
        staff.factors = kept
        if not any(each.user == user for each in kept):
            staff.codes.pop(user, None)

    async def advance(self, user: str, factor: str, counter: int, now: int) -> bool:
        for each in self._place.staff().factors:
            if (each.user, each.id) == (user, factor) and each.counter < counter:
                each.counter, each.used = counter, now
                return True
        return False

    async def replace_codes(self, user: str, codes: Sequence[bytes]) -> None:
        self._place.staff().codes[user] = set(codes)

    async def use_code(self, user: str, code: bytes) -> bool:
        codes = self._place.staff().codes.get(user, set())
        there = code in codes
        codes.discard(code)
        return there

    async def codes_left(self, user: str) -> int:
        return len(self._place.staff().codes.get(user, ()))

    async def reset(self, user: str) -> None:
        staff = self._place.staff()
        if not any(each.user == user for each in staff.factors):
            raise Missing(user)
        staff.factors = [each for each in staff.factors if each.user != user]
        staff.codes.pop(user, None)
        staff.sessions = {digest: each for digest, each in staff.sessions.items() if each.user != user}
