// The two dialogs: login, and confirmation. Each ends with the button pressed, and not with the dialog's "close" event,
// which arrives later and may find it open again.

function opened(id, submit) {
  const dialog = document.getElementById(id);
  const form = dialog.querySelector("form");
  const { promise, resolve } = promised();
  const end = (answer) => {
    form.removeEventListener("submit", submitted);
    dialog.removeEventListener("cancel", cancelled);
    dialog.close();
    resolve(answer);
  };
  const submitted = (event) => {
    event.preventDefault();
    if (event.submitter?.value === "cancel") end(false);
    else submit(end);
  };
  const cancelled = () => end(false); // Escape
  form.addEventListener("submit", submitted);
  dialog.addEventListener("cancel", cancelled);
  dialog.showModal();
  return promise;
}

function promised() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Whether the reader confirmed. */
export function confirmed(title, text, go) {
  document.getElementById("confirm-title").textContent = title;
  document.getElementById("confirm-text").textContent = text;
  document.getElementById("confirm-go").textContent = go;
  return opened("confirm", (end) => end(true));
}

/** `logIn(token)` throws when the token is invalid; then the dialog stays open with the error. True when logged in. */
export function askForToken(logIn) {
  const token = document.getElementById("token");
  const message = document.getElementById("login-message");
  token.value = "";
  message.textContent = "";
  const answer = opened("login-dialog", async (end) => {
    try {
      await logIn(token.value.trim());
      token.value = "";
      end(true);
    } catch (error) {
      message.textContent = error.message;
    }
  });
  token.focus();
  return answer;
}
