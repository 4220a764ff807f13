//! `belljar shell` on a real terminal, which is one of tmux: its keys are typed, its screen is
//! read.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod processes;
#[path = "terminal/tmux.rs"]
mod tmux;

use processes::assert_gone;
use tmux::Tmux;

/// Opens a shell inside, or says why the test is skipped.
fn shell() -> Option<Tmux> {
    let belljar = env!("CARGO_BIN_EXE_belljar");
    // A prompt that no program prints, and a history of its own.
    let terminal = Tmux::start(&format!("{belljar} shell --env HISTFILE="))?;
    terminal.wait_for(r"$");
    terminal.type_line("PS1='ready> '; clear");
    terminal.wait_for("ready>");
    Some(terminal)
}

#[test]
fn interrupt_stop_and_continue_jobs() {
    let Some(terminal) = shell() else { return };
    terminal.type_line("sh -c 'echo begun 1; exec sleep 1000'");
    terminal.wait_for("\nbegun 1");
    terminal.press("C-c");
    terminal.type_line("echo code=$?");
    terminal.wait_for("code=130");
    terminal.type_line("sh -c 'echo begun 2; exec sleep 2000'");
    terminal.wait_for("\nbegun 2");
    terminal.press("C-z");
    terminal.wait_for("[1]+  Stopped");
    terminal.type_line("bg; jobs");
    terminal.wait_for("[1]+  Running");
    terminal.type_line("clear; fg");
    terminal.wait_for("\nsh -c");
    terminal.press("C-c");
    terminal.type_line("echo code=$?");
    terminal.wait_for("code=130");
    terminal.type_line("sh -c 'echo begun 3; exec sleep 3000'");
    terminal.wait_for("\nbegun 3");
    terminal.press("C-\\");
    terminal.wait_for("Quit");
}

#[test]
fn the_window_changes_its_size() {
    let Some(terminal) = shell() else { return };
    terminal.type_line("stty size");
    terminal.wait_for("\n24 80");
    terminal.type_line("trap 'echo now $(stty size)' WINCH");
    terminal.wait_for("WINCH\nready>");
    terminal.resize(100, 30);
    terminal.press("Enter");
    terminal.wait_for("now 30 100");
}

#[test]
fn python_edits_lines_and_has_a_history() {
    let Some(terminal) = shell() else { return };
    terminal.type_line("/usr/bin/python3 -q");
    terminal.wait_for(">>>");
    terminal.type_line("print(6 * 7)");
    terminal.wait_for("\n42");
    terminal.press("Up");
    terminal.wait_for("42\n>>> print(6 * 7)");
    terminal.press("BSpace");
    terminal.type_line(" + 1)");
    terminal.wait_for("\n43");
    // At the start of the line, after two letters, one that is missing.
    terminal.type_text("prnt('edited')");
    terminal.press("C-a");
    terminal.press("Right");
    terminal.press("Right");
    terminal.type_line("i");
    terminal.wait_for("\nedited");
    terminal.type_line("import time; time.sleep(1000)");
    terminal.wait_for("sleep(1000)\n");
    terminal.press("C-c");
    terminal.wait_for("KeyboardInterrupt");
    terminal.press("C-d");
    terminal.wait_for("ready>");
}

#[test]
fn programs_that_draw_on_the_whole_screen() {
    let Some(terminal) = shell() else { return };
    terminal.type_line("vim.tiny -u NONE /tmp/text");
    terminal.wait_for("\n~");
    terminal.type_text("ihello from vim");
    terminal.press("Escape");
    terminal.type_line(":wq");
    terminal.wait_for("ready>");
    terminal.type_line("clear; cat /tmp/text");
    terminal.wait_for("\nhello from vim");
    terminal.type_line("seq 1 1000 | less");
    terminal.wait_for("\n23\n:");
    terminal.type_text("G");
    terminal.wait_for("\n1000\n");
    terminal.type_text("q");
    terminal.wait_for("ready>");
    terminal.type_line("top");
    terminal.wait_for("PID USER");
    terminal.type_text("q");
    terminal.wait_for("ready>");
}

#[test]
fn tmux_inside() {
    let Some(terminal) = shell() else { return };
    terminal.type_line("tmux -f /dev/null new-session 'PS1=inner= exec sh -i'");
    terminal.wait_for("[0] 0:");
    terminal.wait_for("\ninner=");
    terminal.type_line("echo inside $((40 + 2))");
    terminal.wait_for("\ninside 42");
    terminal.type_line("sh -c 'echo begun; exec sleep 1000'");
    terminal.wait_for("\nbegun");
    terminal.press("C-c");
    terminal.type_line("stty size");
    // The prompt may come after what was typed.
    terminal.wait_for("23 80");
    terminal.type_line("exit");
    terminal.wait_for("[exited]");
}

#[test]
fn a_terminal_that_is_closed_leaves_no_process_behind() {
    let Some(terminal) = shell() else { return };
    // One that ignores the signal, one in the background, and one of another session.
    terminal
        .type_line("(trap '' HUP; sleep 1001) & sleep 1002 & setsid sleep 1003 & echo $((3 * 7))");
    terminal.wait_for("\n21");
    let inside = terminal.processes();
    assert!(inside.len() >= 5, "{inside:?}");
    terminal.close();
    assert_gone(&inside);
}
