"""Pages are tried on a house with one user, ada."""

import pytest

from tests.support.admin import AdminHouse, Browser, open_house


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house()


@pytest.fixture
async def ada(house: AdminHouse) -> Browser:
    return await house.visitor()
