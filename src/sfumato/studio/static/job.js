// Follow the command that runs in the studio; when it has ended, draw the page anew. Nothing is lost without this page.
const EVERY = 1000; // ms

export function follow(work) {
  const lost = document.getElementById("lost");
  const look = async () => {
    try {
      const answer = await fetch("job", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      const found = await answer.json();
      lost.hidden = true;
      if (!found.running) {
        location.replace(location.pathname);
        return;
      }
      show(work, found);
    } catch {
      lost.hidden = false;
    }
    setTimeout(look, EVERY);
  };
  setTimeout(look, EVERY);
}

function show(work, found) {
  const say = (selector, text) => {
    const place = work.querySelector(selector);
    // What did not change is not told again to who listens.
    if (place && place.textContent !== String(text)) place.textContent = text;
  };
  say("[data-seconds]", found.seconds);
  if (!found.progress) return;
  say("[data-now]", found.progress.now);
  say("[data-percent]", found.progress.percent);
  work.querySelector("[data-share]").value = found.progress.share;
  for (const round of found.progress.rounds) {
    say(`[data-round="${CSS.escape(round.title)}"] [data-state]`, round.state);
  }
}
