fetch("data.json")
  .then((answer) => answer.json())
  .then((rows) => {
    const list = document.getElementById("list");
    const draw = document.getElementById("chart").getContext("2d");
    draw.fillStyle = "#3b6ea5";
    rows.forEach(({ name, count }, index) => {
      const item = document.createElement("li");
      item.textContent = `${name}: ${count}`;
      list.append(item);
      draw.fillRect(10 + index * 60, 110 - count * 10, 40, count * 10);
    });
  });
