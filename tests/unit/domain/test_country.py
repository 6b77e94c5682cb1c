import phonenumbers
import pytest

from heliograph.domain.numbers.country import PREFIXES, UNKNOWN, country_and_area_of, country_of


@pytest.mark.parametrize(
    ("number", "country"),
    [
        ("4917012345678", "DE"),
        ("33612345678", "FR"),
        ("12025550123", "US"),
        ("14165550123", "CA"),
        ("12735550123", "CA"),
        ("18765550123", "JM"),
        ("17875550123", "PR"),
        ("79161234567", "RU"),
        ("77011234567", "KZ"),
        ("3546111234", "IS"),
        ("42012345", "CZ"),
        ("88213300655", UNKNOWN),
        ("", UNKNOWN),
        ("Heliograph", UNKNOWN),
    ],
)
def test_the_longest_prefix_tells_the_country(number: str, country: str) -> None:
    assert country_of(number) == country
    assert country_of(number) == country  # and so once it is remembered


def test_no_code_is_the_beginning_of_another_but_of_those_that_are_shared() -> None:
    shared = {"1", "7"}
    for prefix in PREFIXES:
        shorter = {prefix[:length] for length in range(1, len(prefix))} & PREFIXES.keys()
        assert shorter <= shared, prefix
    assert all(len(country) == 2 and country.isupper() for country in PREFIXES.values())


@pytest.mark.parametrize(
    ("number", "area"), [("4917012345678", "49"), ("12025550123", "1202"), ("79161234567", "79"), ("1", "")]
)
def test_an_area_is_as_short_as_it_may_be(number: str, area: str) -> None:
    assert country_and_area_of(number)[1] == area


DIFFERENT = {"247": "AC", "379": "ZZ"}
"""The regions of phonenumbers where it differs: Ascension has no code in ISO 3166-1, and 379 is not in use."""


def test_country_codes_are_those_of_phonenumbers() -> None:
    codes = {prefix for prefix in PREFIXES if len(prefix) < 4 and prefix not in ("76", "77")}
    for code in codes | {str(code) for code in phonenumbers.COUNTRY_CODE_TO_REGION_CODE}:
        region = phonenumbers.region_code_for_country_code(int(code))
        assert region == DIFFERENT.get(code, country_of(code) or "001"), code


@pytest.mark.parametrize(("code", "countries"), [(1, 25), (7, 2)])
def test_area_codes_are_those_of_phonenumbers(code: int, countries: int) -> None:
    seen = set()
    for area in range(200, 1000):
        for rest in ("2345678", "5550123", "3335555"):
            number = phonenumbers.PhoneNumber(country_code=code, national_number=int(f"{area}{rest}"))
            region = phonenumbers.region_code_for_number(number)
            if region is not None:
                seen.add(region)
                assert country_of(f"{code}{area}{rest}") == region
    assert len(seen) == countries
