// The command shown follows the form: the server writes it, as it would run it.
const PAUSE = 200; // ms without a letter typed

export function commands(form) {
  const place = document.querySelector(".command");
  let waiting;
  const show = async () => {
    const said = new URLSearchParams(new FormData(form));
    const answer = await fetch(`commands/${form.dataset.commands}?${said}`, { cache: "no-store" }).catch(() => null);
    const [line] = answer?.ok ? await answer.json() : [];
    if (!line) return; // what is typed makes no sense yet
    place.hidden = false;
    place.querySelector("code").textContent = line;
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, PAUSE);
  });
}
