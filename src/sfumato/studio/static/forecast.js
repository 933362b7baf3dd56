// The forecast follows the form: the server makes it, from public facts alone.
const PAUSE = 250; // ms without a letter typed

export function forecast(form, place) {
  const slider = form.querySelector("[data-slides]");
  const epsilon = form.elements[slider.dataset.slides];
  let waiting, asked = 0;

  const read = () => Number(epsilon.value.replace(",", "."));
  const slide = () => { if (read() > 0) slider.value = Math.log10(read()); };
  slider.hidden = false;
  slide();
  slider.addEventListener("input", () => {
    epsilon.value = Number((10 ** slider.value).toPrecision(2));
    slider.setAttribute("aria-valuetext", `epsilon ${epsilon.value}`);
  });
  epsilon.addEventListener("input", slide);

  const draw = async () => {
    const number = ++asked;
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`forecast?${new URLSearchParams(new FormData(form))}`, { cache: "no-store" });
      const text = await answer.text();
      if (number !== asked) return; // a later one is under way
      const open = place.querySelector("details")?.open;
      place.innerHTML = text;
      if (open) place.querySelector("details")?.setAttribute("open", "");
      document.getElementById("lost").hidden = true;
    } catch {
      document.getElementById("lost").hidden = false;
    }
    place.setAttribute("aria-busy", "false");
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, PAUSE);
  });
}
