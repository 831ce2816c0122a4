"""The steps in order, and what came of them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from proxy import __version__
from proxy.demo.documents import AGENT_CARD, CATALOG, HOST, LLMS, MANIFEST, MIRROR_HOSTS, ORDER, REGISTRY_HOST
from proxy.demo.expectations import Unfulfilled
from proxy.demo.publisher import DID
from proxy.demo.screen import Screen
from proxy.demo.stage import TOKEN, Stage, opened
from proxy.demo.steps import Step
from proxy.demo.switchboard import Switchboard

_STEP_SECONDS: Final = 12


async def walk(steps: Sequence[Step], *, keep: bool, screen: Screen) -> int:
    """Take the steps; 0 when all did what they say, else 1. Raises CannotStart when none could begin."""
    _end_on_signals()
    started = perf_counter()
    screen.waiting("starting the local internet and the proxy")
    async with opened(screen.waiting) as stage:
        screen.heading(*_what_runs(stage))
        taken = [await _take(stage, screen, number, step) for number, step in enumerate(steps, start=1)]
        screen.summary(sum(taken), len(taken), perf_counter() - started)
        if keep:
            await _stay(stage, screen)
    return 0 if all(taken) else 1


def _end_on_signals() -> None:
    """These end the demo as Ctrl-C does: with everything that it started."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


async def _take(stage: Stage, screen: Screen, number: int, step: Step) -> bool:
    """Take one step and tell of it; whether it did what it says."""
    screen.waiting(f"STEP {number:>2}  {step.title}")
    stage.origin.forget()
    started = perf_counter()
    try:
        async with asyncio.timeout(_STEP_SECONDS):
            answer = await step.take(stage)
    except Unfulfilled as error:
        screen.step(number, step, error.answer, error.answer.milliseconds)
        screen.failure(error.expected, error.came)
        return False
    except Exception as error:  # whatever it is, the next step gets its turn
        screen.step(number, step, None, (perf_counter() - started) * 1000)
        screen.failure(f"the step to end within {_STEP_SECONDS} s", _what_came(error, stage))
        return False
    screen.step(number, step, answer, answer.milliseconds)
    return True


def _what_came(error: Exception, stage: Stage) -> str:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"{said}; the last answer was {stage.agent.last or 'none'}"


def _what_runs(stage: Stage) -> tuple[str, ...]:
    liar, honest = stage.mirrors
    return (
        f"discovery-proxy {__version__} on {stage.proxy.data}, admin port on {stage.proxy.admin}, store in SQLite",
        f"{HOST} over TLS on 127.0.0.1:{stage.origin.port}, certified by an authority made for this run",
        f"{MIRROR_HOSTS[0]} on 127.0.0.1:{liar.port}, tampered with; {MIRROR_HOSTS[1]} on 127.0.0.1:{honest.port}",
        f"an IPFS gateway on 127.0.0.1:{stage.gateway.port}; {REGISTRY_HOST} on 127.0.0.1:{stage.registry.port}",
    )


async def _stay(stage: Stage, screen: Screen) -> None:
    """Leave everything running until Ctrl-C, which from now on is no failure."""
    interrupted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    for server in stage.servers.values():
        await server.start()
    switchboard = Switchboard(stage.servers)
    await switchboard.start()
    for line in _invitation(stage, switchboard):
        screen.line(line)
    await interrupted.wait()
    await switchboard.kill()


def _invitation(stage: Stage, switchboard: Switchboard) -> list[str]:
    switches = f"http://127.0.0.1:{switchboard.port}"
    data, admin, manifest = f"http://{stage.proxy.data}", f"http://{stage.proxy.admin}", MANIFEST.url
    order = f"{data}/https/{HOST}{ORDER.path}"
    return [
        "",
        "Everything goes on running until Ctrl-C. To paste elsewhere:",
        "",
        *(f"  curl -i {data}/https/{HOST}{document.path}" for document in (MANIFEST, AGENT_CARD, LLMS)),
        f"  curl -i --proxy {data} --cacert {stage.ca_file} {LLMS.url}",
        f"  curl -i --connect-to {HOST}:443:127.0.0.1:{stage.origin.port} --cacert {stage.ca_file} {manifest}",
        f"  curl {data}/v1/discover/{HOST}",
        f"  discovery-proxy discover {HOST} --config {stage.config}",
        f"  discovery-proxy discover {HOST} --level L1 --via {data}",
        f"  curl -i '{data}/v1/catalogs?url={CATALOG.url}'",
        f"  curl '{data}/v1/catalogs?url={CATALOG.url}&report=1'",
        f"  curl '{data}/v1/records?host={HOST}'",
        f"  discovery-proxy records {HOST} --via {data}",
        f"""  curl -d '{{"url": "{ORDER.url}", "method": "POST"}}' {data}/v1/resolve""",
        f"  curl -i -X DELETE {order}",
        f"  curl '{data}/v1/evidence?state=held'",
        f"  discovery-proxy evidence --via {admin}",
        f"  curl -X POST {admin}/admin/boundary/ID/release",
        f"  curl -i -H 'Authorization: Bearer {TOKEN}' -H 'Idempotency-Key: 7' -d '' {order}",
        f"  curl {admin}/readyz",
        f"  curl '{admin}/admin/explain?url={manifest}'",
        f"  curl '{admin}/admin/entries?host={HOST}'",
        f"  curl '{admin}/admin/trust?did={DID}'",
        f"""  curl -d '{{"url": "{manifest}"}}' {admin}/admin/purge""",
        f"  discovery-proxy verify {manifest} --did {DID} --config {stage.config}",
        f"  curl {admin}/metrics",
        "",
        f"To kill and start again: {', '.join(stage.servers)}. Mirrors serve when the stale copy has ended.",
        "",
        f"  curl -X POST {switches}/kill/origin",
        f"  curl -X POST {switches}/start/origin",
    ]
