// Screens of the workbench: views of one text, with its query, layer and head. Each is an object of
// its own file, added in the order of the switch (embed.sh):
//
//     addScreen({
//         name: 'text', // in the address, and as a class of the body: on-text
//         title: 'Text', // in the switch
//         key: 't',
//         parts: ['reading'], // ids of its parts; parts of other screens are hidden
//         isAvailable() {}, // optional: can it show this text?
//         draw() {}, // all of it, after a change of the state, in the page and with its width
//         highlight(cell) {}, // the query of the state or under the pointer
//         focus() {}, // optional: the element that its key focuses
//         trial() {}, // optional: what is tried while no key is pressed (without.js), or null
//         tried() {}, // draw what was tried
//         commands() {}, // optional: command lines that reproduce it; else the head's
//         enter() {}, // optional: before the switch or its key shows it
//         leave() {}, // optional: stop what runs, before another screen appears
//         listen() {}, // optional: once, when the page starts
//         keys: {}, // optional: functions by key, before keys.js
//         state: { light: 'head' }, // optional: usual values of fields of its own in the state
//         address: {}, // optional: entries of these fields, as in address.js
//     });

const SCREENS = [];
let lastScreen = null; // that was drawn

function addScreen(screen) {
    SCREENS.push(screen);
    Object.assign(state, screen.state);
}

function screensOfText() {
    return SCREENS.filter((one) => one.isAvailable?.() ?? true);
}

// That of the state, if it can show the text; else the matrix.
function shownScreen() {
    return screensOfText().find((one) => one.name === state.screen) || SCREENS[0];
}

function goTo({ name }) {
    Object.assign(state, { screen: name, why: false });
    shownScreen().enter?.();
    set({});
    shownScreen().focus?.();
}

// Show the parts of the screen, before they are drawn, and the switch.
function drawScreens() {
    const screen = shownScreen();
    if (lastScreen !== screen) lastScreen?.leave?.();
    lastScreen = screen;
    views = {};
    for (const one of SCREENS) {
        document.body.classList.toggle(`on-${one.name}`, one === screen);
        for (const id of one.parts)
            byId(id).classList.toggle('gone', !screen.parts.includes(id));
    }
    const entries = screensOfText().map(({ name, title, key }) => {
        return [name, title, { id: `screen-${name}`, title: `${title} (${key})` }];
    });
    drawSegments(byId('screens'), entries, screen.name, (name) => goTo({ name }));
}

// What a key does on the screen, or opens another one.
function screenKey(key) {
    const act = shownScreen().keys?.[key];
    const other = screensOfText().find((one) => one.key === key);
    return act || (other && (() => goTo(other)));
}
