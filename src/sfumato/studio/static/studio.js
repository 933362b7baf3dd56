// What a page does beyond its forms: it copies commands, forecasts while somebody types, and follows a command that runs.
import { commands } from "./commands.js";
import { follow } from "./job.js";
import { forecast } from "./forecast.js";

for (const button of document.querySelectorAll("button.copy")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}

for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", () => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  });
}

// Of the fields of a question only those that it takes are shown; without this script all of them are.
for (const form of document.querySelectorAll("form[data-question]")) {
  const question = form.elements.question;
  const show = () => {
    const takes = question.selectedOptions[0].dataset.takes.split(" ");
    const columns = takes.filter((each) => each === "column").length;
    for (const label of form.querySelectorAll("[data-field]")) {
      const field = label.dataset.field;
      const wanted = field === "column" ? columns > 0 : field === "second" ? columns > 1 : takes.includes(field);
      label.hidden = !wanted;
    }
  };
  question.addEventListener("change", show);
  show();
}

for (const form of document.querySelectorAll("form[data-commands]")) commands(form);
const work = document.querySelector("[data-job]");
if (work) follow(work);
const form = document.querySelector("form[data-forecast]");
if (form) forecast(form, document.getElementById("forecast"));
