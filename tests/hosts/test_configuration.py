"""An operator's error is reported with its location, and nothing is started."""

import shutil
import signal

from tributary.cases import Skip
from tributary.switch import EXIT_FAILED, EXIT_OK, EXIT_USAGE, TextConfig


def refused(lab, text, *expected):
    """Starting with this config fails as a usage error; standard error contains all of
    `expected`."""
    path = lab.file("bad.toml", text)
    code, out, err = lab.run_switch("--config", path)
    assert code == EXIT_USAGE, f"exit code {code}\n{err}"
    for words in (str(path), *expected):
        assert words in err, f"{words!r} is not in:\n{err}"
    assert out == "", out


def test_unknown_key_is_named_with_file_line_and_key(lab):
    lab.star(1)
    text = lab.config.text().replace("wait_count = 1", "wait_cuont = 1")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "wait_cuont" in row)
    refused(lab, text, f":{line}", "wait_cuont", "wait_count")
    assert lab.xdp_programs("host0") == 0


def test_checking_the_managers_configuration_reads_the_topology_file_too(lab):
    lab.need(lab.binaries.fabricd)
    topology = lab.file("net.txt", 'Switch 8 "a"\n[1] "b"[1]\nSwitch 8 "b"\n')
    config = lab.file("fabricd.toml", f'[topology]\nfile = "{topology}"\n')
    code, out, err = lab.run(lab.binaries.fabricd, "--check-config", "--config", config)
    assert code == EXIT_OK, err
    topology.write_text('[[link]]\nends = ["a:1", "b:1"]\n')
    code, out, err = lab.run(lab.binaries.fabricd, "--check-config", "--config", config)
    assert code == EXIT_USAGE, f"exit code {code}\n{out}{err}"
    assert str(topology) in err, err
    topology.unlink()
    code, out, err = lab.run(lab.binaries.fabricd, "--check-config", "--config", config)
    assert code == EXIT_USAGE and str(topology) in err, f"exit code {code}\n{out}{err}"


def test_checking_a_configuration_reads_the_files_that_it_names(lab):
    lab.need(lab.binaries.fabricd)
    nowhere = lab.file("nowhere.pem")
    tls = f'tls_ca = "{nowhere}"\ntls_certificate = "{nowhere}"\ntls_key = "{nowhere}"\n'
    token = lab.file("token")
    config = lab.file("fabricd.toml", f'[rest]\nadministrator_token_file = "{token}"\n'
                      f'tls_certificate = "{nowhere}"\ntls_key = "{nowhere}"\n[switches]\n{tls}')
    code, out, err = lab.run(lab.binaries.fabricd, "--check-config", "--config", config)
    assert code == EXIT_USAGE, f"exit code {code}\n{out}{err}"
    for words in (f"{config}:2: key 'rest.administrator_token_file'", f"{config}:3: key 'rest.tls_certificate'",
                  f"{config}:7: key 'switches.tls_certificate'", str(token), str(nowhere)):
        assert words in err, f"{words!r} is not in:\n{err}"
    token.write_text("secret\n")
    config.write_text(f'[rest]\nadministrator_token_file = "{token}"\n')
    code, out, err = lab.run(lab.binaries.fabricd, "--check-config", "--config", config)
    assert code == EXIT_OK, err

    lab.star(1)
    of_switch = lab.config.text()
    for text, words in ((f'[manager]\naddress = "h:1"\n{tls}{of_switch}', (":3: key 'manager.tls_ca'", str(nowhere))),
                        (f'[manager]\naddress = "h:1"\n{of_switch}', ("key 'manager.tls_ca'", "accepts only TLS"))):
        code, out, err = lab.run_switch("--check-config", "--config", lab.file("switch.toml", text))
        assert code == EXIT_USAGE and all(each in err for each in words), f"exit code {code}\n{out}{err}"


def test_wrong_type_is_named_with_file_line_and_key(lab):
    lab.star(1)
    text = lab.config.text().replace("wait_count = 1", 'wait_count = "one"')
    line = next(n for n, row in enumerate(text.splitlines(), 1) if '"one"' in row)
    refused(lab, text, f":{line}", "wait_count")


def test_a_tree_through_a_port_that_is_not_there(lab):
    section = lab.star(1)
    section.tree(8, 1, "host0", ["hots1"])
    refused(lab, lab.config.text(), "hots1", "host1")


def test_broken_toml_is_named_with_its_line(lab):
    refused(lab, "[process]\nworkers = = 1\n", ":2")


def test_missing_file(lab):
    code, _, err = lab.run_switch("--config", lab.file("nowhere.toml"))
    assert code == EXIT_USAGE and "nowhere.toml" in err, (code, err)


def test_missing_interface_is_named(lab):
    section = lab.star(1)
    section.ports["host1"]["interface"] = "nosuch0"
    lab.config.write(lab.file("switch.toml"))
    code, _, err = lab.run_switch("--config", lab.file("switch.toml"))
    assert code == EXIT_FAILED, (code, err)
    assert "nosuch0" in err, err
    assert lab.xdp_programs("host0") == 0, "the other port was left with a program"


def missing_capability(lab, capability, kind):
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed; it is part of util-linux")
    lab.star(1, kind=kind)
    lab.config.write(lab.file("switch.toml"))
    lab.need(lab.binaries.switch)
    without = f"-{capability.removeprefix('cap_')}"
    # sys_admin also allows what bpf and net_raw do, so it is dropped too.
    dropped = f"{without},-sys_admin" if capability != "cap_sys_admin" else without
    code, _, err = lab.run(
        "setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}", "--no-new-privs",
        lab.binaries.switch, "--config", lab.file("switch.toml"),
    )
    assert code == EXIT_FAILED, (code, err)
    assert capability.upper() in err, err


def test_missing_net_raw_is_named_for_af_packet(lab):
    missing_capability(lab, "cap_net_raw", "af_packet")


def test_missing_bpf_is_named_for_af_xdp(lab):
    missing_capability(lab, "cap_bpf", "af_xdp")


def test_missing_net_admin_is_named_for_af_xdp(lab):
    missing_capability(lab, "cap_net_admin", "af_xdp")


def test_print_config_is_a_valid_config_that_marks_every_key(lab):
    code, out, err = lab.run_switch("--print-config")
    assert code == EXIT_OK, err
    assert "[live]" in out and "[restart]" in out
    for number in range(2):
        lab.network.host(f"h{number}")
        lab.network.cable(f"h{number}", "eth0", None, f"eth{number}")
    switch = lab.start(TextConfig(out, "/run/tributary/switch.sock"))
    assert switch.stop() == 0


def test_without_arguments_it_names_the_file_it_looked_for(lab):
    code, _, err = lab.run_switch()
    assert code == EXIT_USAGE and "/etc/tributary/switch.toml" in err, (code, err)


def test_unknown_option_is_a_usage_error(lab):
    code, _, err = lab.run_switch("--confg", "x")
    assert code == EXIT_USAGE and "--confg" in err, (code, err)


def test_help_and_version(lab):
    code, out, _ = lab.run_switch("--help")
    assert code == EXIT_OK and "--print-config" in out
    code, out, _ = lab.run_switch("--version")
    assert code == EXIT_OK and out.strip()


def test_sigint_ends_it_like_sigterm(lab):
    lab.star(1)
    switch = lab.start()
    switch.child.send_signal(signal.SIGINT)
    assert switch.child.wait(30) == EXIT_OK
