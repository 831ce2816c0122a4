# 3.12 is faster here; 3.11 works.
ARG PYTHON=3.12-slim

FROM python:${PYTHON} AS build
WORKDIR /build
RUN python -m venv /opt/discovery-proxy
COPY deploy/requirements.lock deploy/requirements.lock
RUN /opt/discovery-proxy/bin/pip install --no-cache-dir --require-hashes -r deploy/requirements.lock \
 && /opt/discovery-proxy/bin/pip install --no-cache-dir setuptools wheel
COPY pyproject.toml README.md LICENSE ./
COPY proxy proxy
RUN /opt/discovery-proxy/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
 && /opt/discovery-proxy/bin/pip uninstall --yes setuptools wheel pip

FROM python:${PYTHON}
COPY --from=build /opt/discovery-proxy /opt/discovery-proxy
COPY config /etc/discovery-proxy
# The store's folder; mount a volume over it to keep the cache across restarts.
RUN useradd --system --uid 10001 --home-dir /var/lib/discovery-proxy --create-home discovery-proxy
USER 10001
WORKDIR /var/lib/discovery-proxy
ENV PATH=/opt/discovery-proxy/bin:$PATH \
    DISCOVERY_PROXY_LISTEN__HOST=0.0.0.0
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["python", "-c", \
  "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9090/readyz', timeout=1)"]
ENTRYPOINT ["discovery-proxy"]
CMD ["serve"]
