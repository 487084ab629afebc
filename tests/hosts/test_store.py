"""tributaryctl store: the records of a manager as text, while it runs, and a store made of them."""

from tributary.manager import Manager

JOBS = "/fabric/collectives/jobs"


def test_an_export_of_a_running_manager_makes_the_store_of_another(lab):
    lab.need(lab.binaries.ctl)
    manager = lab.start_manager()
    token = manager.create_job("kept")
    exported = lab.file("fabric.export")

    def store(*words):
        return lab.run(lab.binaries.ctl, "store", *words)

    code, _, errors = store("export", "--config", manager.file, "--output", exported)
    assert code == 0, errors
    assert exported.stat().st_mode & 0o077 == 0, "it holds tokens"
    assert manager.create_job("later"), "the manager has not noticed"
    code, _, errors = store("import", "--config", manager.file, exported)
    assert code == 1 and f"{manager.database} exists" in errors, errors

    moved = lab.file("moved.db")
    config = lab.file("moved.toml", f'[store]\nfile = "{moved}"\n')
    code, said, errors = store("import", "--config", config, exported)
    assert code == 0 and "1 job" in said, said + errors
    assert moved.stat().st_mode & 0o077 == 0
    other = Manager(lab.binaries, lab.place, name="other", store={"file": str(moved)})
    lab.managers.append(other)
    assert other.get(f"{JOBS}/kept", token)[0] == 200, "it has its token"
    assert other.get(f"{JOBS}/later")[0] == 404


def test_what_cannot_be_imported_is_named_and_leaves_no_store(lab):
    lab.need(lab.binaries.ctl)
    manager = lab.start_manager()
    manager.create_job("kept")
    text = lab.run(lab.binaries.ctl, "store", "export", "--config", manager.file)[1]
    moved = lab.file("moved.db")
    config = lab.file("moved.toml", f'[store]\nfile = "{moved}"\n')
    for content, says in (
        ("", "not a text of"),
        (text[: len(text) // 2], "line"),
        (text.replace('"kept"', '"kept\\u0000"', 1), "line 2"),
        (text.splitlines()[0] + "\n", "its end is missing"),
    ):
        code, _, errors = lab.run(
            lab.binaries.ctl, "store", "import", "--config", config, lab.file("bad.export", content)
        )
        assert code == 1 and says in errors, errors
        assert not moved.exists()
    code, _, errors = lab.run(lab.binaries.ctl, "store", "export", "--config", lab.file("none.toml"))
    assert code != 0 and "none.toml" in errors, errors
