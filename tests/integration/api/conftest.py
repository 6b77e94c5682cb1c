import pytest

from tests.support.gateway import Gateway, open_gateway


@pytest.fixture
async def gateway() -> Gateway:
    return await open_gateway()
