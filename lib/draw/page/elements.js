// Elements of the page, and what they have in common.

function element(name, text = '', className = '', attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
}

function buttonFor(act, text, className = '', attributes = {}) {
    const button = element('button', text, className, attributes);
    button.addEventListener('click', act);
    return button;
}

function fill(select, entries, chosen) {
    select.replaceChildren(
        ...entries.map(
            ([value, name]) => new Option(name, value, false, String(value) === String(chosen)),
        ),
    );
}

// A field to choose one of [value, name] by, with what it is called before it.
function chooser(title, id, entries, chosen, choose) {
    const label = element('label', `${title} `);
    const select = element('select', '', '', { id });
    fill(select, entries, chosen);
    select.addEventListener('change', () => choose(select.value));
    label.append(select);
    return label;
}

// The same as radio buttons, for a few texts by their titles.
function radios(name, titles, chosen, choose) {
    return Object.entries(titles).map(([value, title]) => {
        const label = element('label');
        const input = element('input', '', '', { type: 'radio', name });
        input.checked = value === chosen;
        input.addEventListener('change', () => choose(value));
        label.append(input, title);
        return label;
    });
}

// Canvases over each other, in a plot that scrolls where they are too large.
function addPlot(parent, width, height, canvases) {
    const plot = element('div', '', 'plot');
    const sheet = element('div', '', 'sheet');
    sheet.style.width = `${width}px`;
    sheet.style.height = `${height}px`;
    sheet.append(...canvases);
    plot.append(sheet);
    parent.append(plot);
}

function clamp(value, least, most) {
    return Math.min(Math.max(value, least), most);
}

// The rows and columns that an arrow key goes, which does nothing else then; null: it is no arrow.
function arrowOf(event) {
    const steps = {
        ...{ ArrowLeft: [0, -1], ArrowRight: [0, 1] },
        ...{ ArrowUp: [-1, 0], ArrowDown: [1, 0] },
    };
    const step = steps[event.key];
    if (!step) return null;
    event.preventDefault();
    event.stopPropagation();
    return step;
}
