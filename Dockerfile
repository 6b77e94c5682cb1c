# The gateway as a container image, its hot modules compiled. It runs as a user without privileges, and on a read-only root
# file system: all that it writes is in /var/lib/heliograph. docs/install.md shows how it is built and run.

# The base image of both stages. A tag may be moved, so give a digest for images that you publish (docs/releasing.md).
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
# `false` leaves the modules in Python: built in a minute, and with a seventh to a quarter more CPU a message.
ARG COMPILED=true
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build

# Rarely changed layers come first, so that a change of the source does not install everything again. The compiler is the
# base image's Debian package, and stays in this stage.
# hadolint ignore=DL3008
RUN if [ "$COMPILED" = true ]; then \
      apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*; \
    fi
COPY requirements/native.txt requirements/run.txt requirements/
RUN python -m venv /opt/heliograph \
    && /opt/heliograph/bin/pip install --require-hashes --only-binary :all: -r requirements/run.txt \
    && python -m venv tools \
    && tools/bin/pip install --require-hashes --only-binary :all: -r requirements/native.txt

COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY ops ops
COPY src src
RUN HATCH_BUILD_HOOK_ENABLE_CUSTOM=$COMPILED tools/bin/python -m hatchling build -t wheel -d dist \
    && /opt/heliograph/bin/pip install --no-deps --no-index dist/*.whl \
    && /opt/heliograph/bin/pip uninstall --yes pip


FROM ${PYTHON_IMAGE}
ARG PYTHON_IMAGE
LABEL org.opencontainers.image.title="Heliograph" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${PYTHON_IMAGE}"
RUN groupadd --system --gid 10001 heliograph \
    && useradd --system --uid 10001 --gid heliograph --no-create-home --home-dir /var/lib/heliograph \
       --shell /usr/sbin/nologin heliograph \
    && install --directory --owner heliograph --group heliograph --mode 0700 /var/lib/heliograph
COPY --from=build /opt/heliograph /opt/heliograph
ENV PATH=/opt/heliograph/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HELIOGRAPH_DATA=/var/lib/heliograph \
    HELIOGRAPH_HTTP_LISTEN=0.0.0.0:8080

# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
WORKDIR /var/lib/heliograph
VOLUME /var/lib/heliograph
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["heliograph", "health"]
ENTRYPOINT ["heliograph"]
CMD ["serve"]
