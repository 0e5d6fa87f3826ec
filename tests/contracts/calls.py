"""Every call of the API with its rule: the least role and the scope. Tests walk this table."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from banks.access import Role, Scope
from banks.models import Bank, Operation
from banks.outbox import Delivery, Job
from banks.services import banks, entries, members, webhooks
from recall.learning import proposals, runs
from recall.models import ConsolidationRun, Proposal
from tests import builders

SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Rule:
    """A call that succeeds for whoever holds the role in the bank `ops`, and the scope."""

    name: str
    method: str
    path: str
    scope: Scope | None
    role: Role | None = None
    body: object = None
    needs_admin: bool = False
    refusal: tuple[int, ...] = (403,)


def _rules(key: str, other: str) -> list[Rule]:
    read, write, admin = Scope.MEMORY_READ, Scope.MEMORY_WRITE, Scope.ADMIN
    viewer, editor, owner = Role.VIEWER, Role.EDITOR, Role.OWNER
    at = f"/memories/{key}"
    item = {"bank": "ops", "text": "Valve 9 is new."}
    return [
        Rule("create_bank", "POST", "/banks", Scope.BANKS_CREATE, None, {"name": "ops"}),
        Rule("list_banks", "GET", "/banks", read),
        Rule("get_bank", "GET", "/banks/ops", read, viewer),
        Rule("describe_bank", "PATCH", "/banks/ops", admin, owner, {"description": "x"}),
        Rule("ensure_bank", "POST", "/banks/ops/ensure", write, editor),
        Rule("rename_bank", "POST", "/banks/ops/rename", admin, owner, {"name": "pumps"}),
        Rule("delete_bank", "DELETE", "/banks/ops", admin, owner),
        Rule("list_trash", "GET", "/trash", admin),
        # A bank in the trash is visible to its owners alone.
        Rule("restore_bank", "POST", "/banks/old/restore", admin, owner, refusal=(404,)),
        Rule("save_memory", "POST", "/memories", write, editor, item),
        Rule("save_memories", "POST", "/memories/bulk", write, editor,
             {"bank": "ops", "memories": [item]}),
        Rule("list_memories", "GET", "/memories?bank=ops", read, viewer),
        Rule("get_memory", "GET", f"{at}?bank=ops", read, viewer),
        Rule("memory_history", "GET", f"{at}/history?bank=ops", read, viewer),
        Rule("update_memory", "PATCH", at, write, editor, {"bank": "ops", "tags": ["new"]}),
        Rule("delete_memory", "DELETE", f"{at}?bank=ops", write, editor),
        Rule("pin_memory", "POST", f"{at}/pin", write, editor, {"bank": "ops", "pinned": True}),
        Rule("supersede_memory", "POST", f"{at}/supersede", write, editor,
             {"bank": "ops", "superseded_by": other}),
        Rule("restore_memory", "POST", "/memories/DEAD/restore", write, editor, {"bank": "ops"}),
        Rule("procedure_template", "GET", "/procedures/template", read),
        Rule("list_tags", "GET", "/tags?bank=ops", read, viewer),
        Rule("list_rules", "GET", "/rules?bank=ops", Scope.RULES_READ, viewer),
        Rule("set_rule", "PUT", "/rules/valves", Scope.RULES_WRITE, Role.MAINTAINER,
             {"bank": "ops", "content": "Close valve 2 first."}),
        Rule("list_files", "GET", "/files?bank=ops", read, viewer),
        Rule("read_file", "GET", "/files/semantic_memory/facts.md?bank=ops", read, viewer),
        Rule("recall", "POST", "/recall", read, viewer, {"bank": "ops", "query": "valve"}),
        Rule("explain_recall", "POST", "/recall/explain", read, viewer,
             {"bank": "ops", "query": "valve", "id": key}),
        Rule("preview", "POST", "/preview", read, viewer, {"bank": "ops", "query": "valve"}),
        Rule("pre_generate", "POST", "/hooks/pre-generate", Scope.HOOKS, None,
             {"metadata": {"memory_bank": "ops"}}),
        Rule("turn_completed", "POST", "/hooks/turn-completed", Scope.HOOKS, None,
             {"session_id": "chat"}),
        Rule("extract_job", "POST", "/hooks/extract-job", Scope.RUNS_RUN, None,
             {"session_id": "chat"}, needs_admin=True),
        # A proposal is visible to those who maintain its bank alone.
        Rule("list_proposals", "GET", "/proposals?bank=ops", Scope.RUNS_RUN, Role.MAINTAINER),
        Rule("accept_proposal", "POST", "/proposals/ASKED/accept", Scope.RUNS_RUN,
             Role.MAINTAINER, {}, refusal=(404,)),
        Rule("reject_proposal", "POST", "/proposals/ASKED/reject", Scope.RUNS_RUN,
             Role.MAINTAINER, {}, refusal=(404,)),
        Rule("start_consolidation", "POST", "/consolidations", Scope.RUNS_RUN, Role.MAINTAINER,
             {"bank": "ops"}),
        Rule("list_consolidations", "GET", "/consolidations?bank=ops", Scope.RUNS_RUN,
             Role.MAINTAINER),
        # A run is visible to those who maintain its bank alone.
        Rule("get_consolidation", "GET", "/consolidations/RAN", Scope.RUNS_RUN,
             Role.MAINTAINER, refusal=(404,)),
        Rule("apply_consolidation", "POST", "/consolidations/RAN/apply", Scope.RUNS_RUN,
             Role.MAINTAINER, {}, refusal=(404,)),
        Rule("undo_consolidation", "POST", "/consolidations/RAN/undo", Scope.RUNS_RUN,
             Role.MAINTAINER, refusal=(404,)),
        Rule("list_writes", "GET", "/rollbacks?bank=ops&session_id=chat", write,
             Role.MAINTAINER),
        Rule("roll_back", "POST", "/rollbacks", write, Role.MAINTAINER,
             {"bank": "ops", "session_id": "chat"}),
        Rule("session_deleted", "POST", "/hooks/session-deleted", Scope.HOOKS, None,
             {"session_id": "chat"}),
        Rule("select_session", "PUT", "/sessions/chat", Scope.HOOKS, viewer, {"bank": "ops"}),
        # A webhook is visible to those who maintain its banks alone.
        Rule("list_webhooks", "GET", "/webhooks", admin),
        Rule("create_webhook", "POST", "/webhooks", admin, Role.MAINTAINER,
             {"url": "https://8.8.8.8/x", "filter": {"banks": ["ops"]}}),
        Rule("change_webhook", "PATCH", "/webhooks/HOOK", admin, Role.MAINTAINER,
             {"active": False}, refusal=(404,)),
        Rule("delete_webhook", "DELETE", "/webhooks/HOOK", admin, Role.MAINTAINER, refusal=(404,)),
        Rule("test_webhook", "POST", "/webhooks/HOOK/test", admin, Role.MAINTAINER,
             refusal=(404,)),
        Rule("list_deliveries", "GET", "/webhooks/HOOK/deliveries", admin, Role.MAINTAINER,
             refusal=(404,)),
        Rule("redeliver", "POST", "/webhooks/HOOK/deliveries/SENT/redeliver", admin,
             Role.MAINTAINER, refusal=(404,)),
        Rule("get_config", "GET", "/config", admin, needs_admin=True),
        Rule("stream_events", "GET", "/events?bank=ops", read, viewer),
        Rule("change_config", "PATCH", "/config", admin, None, {"recall_limit": 9},
             needs_admin=True),
        Rule("reload_config", "POST", "/config/reload", admin, None, {"id": "memory"},
             needs_admin=True),
        Rule("ui_content", "GET", "/ui-content?path=css/app.css", read),
        Rule("doctor", "POST", "/doctor", admin, needs_admin=True),
        Rule("reload", "POST", "/reload", admin, needs_admin=True),
    ]  # fmt: skip


TABLE = _rules("", "")
NAMES = [rule.name for rule in TABLE]
# The first two are a POST because a query may be long. The others change nothing of a bank by
# themselves: they are about a session of the caller's own.
READING = (
    "recall", "explain_recall", "preview", "pre_generate", "turn_completed", "session_deleted",
    "select_session",
)  # fmt: skip
CHANGING = [rule.name for rule in TABLE if rule.method not in SAFE and rule.name not in READING]


@dataclass(frozen=True)
class Scene:
    """A world with two live memories, a dead one and a trashed bank of the same people."""

    world: builders.World
    live: str
    dead: str
    rules: dict[str, Rule]


def scene_of(world: builders.World) -> Scene:
    """What the table needs, around this world."""
    one = builders.save(world, "Valve 1 is open.").memory
    two = builders.save(world, "Valve 2 is open.").memory
    dead = builders.save(world, "Valve 3 is gone.").memory
    entries.delete(world.editor, world.bank, dead.id)
    old, _ = banks.create(world.admin, "old")
    for role in Role:
        members.set_role(world.admin, old, role.name.lower(), role)
    banks.trash(world.admin, old)
    proposals.propose(world.bank, ["Close valve 2."], session="chat", by="user:editor")
    asked = Proposal.objects.latest("pk").uid
    known = {"DEAD": dead.id, "ASKED": asked, "RAN": _ran(world)}
    rules = {
        rule.name: replace(
            rule, path=reduce(lambda path, each: path.replace(*each), known.items(), rule.path)
        )
        for rule in _rules(one.id, two.id)
    }
    scene = Scene(world, one.id, dead.id, rules)
    tell_again(scene)
    return scene


def _ran(world: builders.World) -> str:
    """A run over `ops` that has merged two memories, by its id."""
    for text in ("Valve 4 hums.", "valve 4 hums"):
        builders.save(world, text)
    stop = threading.Event()
    return runs.run_now(world.maintainer, world.bank, stop=stop, progress=lambda *_: None).id


def tell_again(scene: Scene) -> None:
    """A webhook of `ops` that was sent something, for the calls about webhooks."""
    hook, _ = webhooks.create(
        scene.world.maintainer, "https://8.8.8.8/x", webhooks.Filter(banks=("ops",))
    )
    sent = webhooks.test(scene.world.maintainer, hook.id)
    Delivery.objects.update(state=Delivery.State.OK, event_type="item-changed.created")
    for rule in TABLE:
        if "HOOK" in rule.path:
            path = rule.path.replace("HOOK", str(hook.id)).replace("SENT", str(sent.id))
            scene.rules[rule.name] = replace(rule, path=path)


def _run_again(world: builders.World) -> None:
    """The run that was taken back has an operation to take back again."""
    undone = Operation.objects.filter(bank=world.bank, act="undo").latest("pk")
    ConsolidationRun.objects.update(operations=[undone.uid])


def waits_again() -> None:
    """Nobody has decided about the proposals."""
    Proposal.objects.update(state=Proposal.State.WAITING, decided_at=None)


def mended(scene: Scene, name: str) -> None:
    """Make what a call has changed as it was, so that the next person can ask for the same."""
    world = scene.world
    mend: dict[str, Callable[[], object]] = {
        "delete_bank": lambda: banks.restore(world.admin, "ops", None),
        "restore_bank": lambda: banks.trash(world.admin, Bank.objects.get(name="old")),
        "rename_bank": lambda: banks.rename(world.admin, Bank.objects.get(name="pumps"), "ops"),
        "pin_memory": lambda: entries.pin(world.editor, world.bank, scene.live, pinned=False),
        "delete_memory": lambda: entries.restore(world.editor, world.bank, scene.live),
        "supersede_memory": lambda: entries.restore(world.editor, world.bank, scene.live),
        "restore_memory": lambda: entries.delete(world.editor, world.bank, scene.dead),
        "accept_proposal": waits_again,
        "reject_proposal": waits_again,
        "start_consolidation": lambda: Job.objects.filter(kind=runs.KIND).delete(),
        "undo_consolidation": lambda: _run_again(world),
        "delete_webhook": lambda: tell_again(scene),
        "test_webhook": lambda: tell_again(scene),
        "redeliver": lambda: tell_again(scene),
    }
    if name in mend:
        mend[name]()
