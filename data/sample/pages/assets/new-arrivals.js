// The shelf computer answers after 400 ms; a scan that does not wait for #arrivals sees an empty shelf.
const titles = ["The goat and the lighthouse", "Knots for cold hands", "A short walk along a long quay"];
setTimeout(() => {
  const list = document.createElement("ul");
  list.id = "arrivals";
  for (const title of titles) {
    const entry = document.createElement("li");
    entry.textContent = title;
    list.append(entry);
  }
  // serious, and only there for a scan that waited: pale text
  const note = document.createElement("p");
  note.className = "pale";
  note.textContent = "Three titles came this week.";
  document.getElementById("shelf").append(list, note);
}, 400);
