// Fields, buttons and keys.

function headBeside(by) {
    const heads = headsOf(current(), state.kind);
    const at = heads.findIndex((one) => one.layer === state.layer && one.head === state.head);
    return heads[(at + by + heads.length) % heads.length];
}

function stepHead(by) {
    const { layer, head } = headBeside(by);
    set({ layer, head, kept: null });
}

function stepSentence(by) {
    set({ sentence: clamp(state.sentence + by, 0, sentences.length - 1) });
    window.scrollTo(0, 0);
}

function stepTheme() {
    set({ theme: isDark() ? 'light' : 'dark' });
    announce(`Colours: ${state.theme}`);
}

function togglePresent() {
    if (phone.matches) return;
    set({ present: !state.present });
    if (!state.lesson) shownScreen().focus?.();
}

// Esc leaves a field, closes an open panel, ends the presentation, then releases the kept cell.
function letGo() {
    if (document.activeElement.matches('input, select, #line *')) return focusView();
    if (state.why) return closeWhy();
    if (isLarge()) return togglePresent();
    return keepCell(null);
}

// The matrix of a step of the lesson, or what its screen has.
function focusView() {
    const { focus } = shownScreen();
    if (!state.lesson) return focus ? focus() : document.activeElement.blur();
    return [...document.querySelectorAll('.over')].find((one) => one.offsetParent)?.focus();
}

// Turn the head whose button has the focus off or on, or the selected one.
function switchFocusedHead() {
    const { switch: own, head } = document.activeElement.dataset;
    const wanted = own ?? (head ? null : shownTensor().switchName(state.head));
    const found = headsOf(current(), state.kind).find(({ name, switchName }) =>
        (wanted ? switchName === wanted : name === head));
    if (found && canSwitch(found.tensor)) switchOne(found.switchName);
}

const KEYS = {
    '[': () => (state.lesson ? stepSentence(-1) : stepHead(-1)),
    ']': () => (state.lesson ? stepSentence(1) : stepHead(1)),
    x: switchFocusedHead,
    b: () => live.engine && togglePin(),
    p: togglePresent,
    '/': () => (live.engine ? byId('text') : byId('sentence')).focus(),
    s: () => set({ scale: scaleOf(shownTensor()) === 'linear' ? 'sqrt' : 'linear' }),
    m: focusView, // in a lesson; elsewhere the matrix: screens.js
    l: () => sentences[0].lesson && set({ lesson: !state.lesson }),
    e: openExport,
    d: stepTheme,
    ArrowLeft: () => (state.lesson ? stepSlide(-1) : stepHead(-1)),
    ArrowRight: () => (state.lesson ? stepSlide(1) : stepHead(1)),
    PageUp: () => stepSlide(-1),
    PageDown: () => stepSlide(1),
    '?': () => byId('keys').showModal(),
    Escape: letGo,
};

const TURNS = /^(Arrow(Left|Right)|Page(Up|Down))$/;
const MOVES = /^(Tab|Arrow|Home|End|Page)/;
let isPointed = false; // the pointer was used last, not a key that moves the focus

// Keys that turn the slides of a lesson, whatever has the focus: Play, a picture, a menu.
const turnsSlides = ({ key }) => isProjecting() && TURNS.test(key);

// Keys of the page. Space and Enter press a button that a key has reached; a slider has arrows.
function press(event) {
    if (document.querySelector('dialog[open]')) return; // a dialog has its own keys
    const inputs = MOVES.test(event.key) ? 'input' : 'input:not([type="range"])';
    const fields = `select, #plain, #fixed, ${inputs}`;
    const field = !turnsSlides(event) && event.target.closest?.(fields);
    if (event.ctrlKey || event.metaKey || event.altKey || (field && event.key !== 'Escape')) return;
    const button = !isPointed && event.target.closest?.('button, summary');
    if (/^( |Enter)$/.test(event.key) && button) return;
    const inMotion = motion.step && !turnsSlides(event) && motion.box.contains(event.target);
    const ofLesson = inMotion && MOTION_KEYS[event.key];
    const act = (state.lesson ? ofLesson : screenKey(event.key)) || KEYS[event.key];
    if (!act || (event.key.startsWith('Page') && !isProjecting())) return;
    act(event);
    event.preventDefault();
}

// --- beginning ---------------------------------------------------------------------------------

// On a phone: show the field of the text.
function toggleField() {
    const open = document.querySelector('header').classList.toggle('editing');
    byId('edit').setAttribute('aria-expanded', open);
    if (open) (byId('text').hidden ? byId('sentence') : byId('text')).focus();
}

function listen() {
    on('edit', 'click', toggleField);
    on('head-before', 'click', () => stepHead(-1));
    on('head-after', 'click', () => stepHead(1));
    on('skip', 'click', focusView);
    on('sentence', 'change', () => set({ sentence: Number(byId('sentence').value) }));
    on('tensor', 'change', () => set({ kind: byId('tensor').value }));
    on('compare', 'change', () => compareWith(byId('compare').value));
    on('numbers', 'toggle', drawNumbers);
    on('without', 'toggle', () => drawWithout());
    on('why-button', 'click', () => openWhy(currentCell()));
    on('theme', 'click', stepTheme);
    on('language', 'click', () => set({ lang: isChinese() ? 'en' : 'zh' }));
    on('present', 'click', togglePresent);
    on('help', 'click', KEYS['?']);
    on('copy-link', 'click', copyLink);
    on('command', 'click', openExport);
    document.addEventListener('keydown', press);
    document.addEventListener('pointerdown', () => (isPointed = true), true);
    document.addEventListener('keydown', ({ key }) => (isPointed &&= !MOVES.test(key)), true);
    document.addEventListener('keydown', (event) => {
        if (!turnsSlides(event)) return;
        press(event);
        event.stopPropagation();
    }, true);
    for (const query of [prefersDark, phone])
        query.addEventListener('change', () => state.printing || draw());
    window.addEventListener('beforeprint', () => drawForPaper(true));
    window.addEventListener('afterprint', () => drawForPaper(false));
    let waiting = 0;
    const sizeOf = () => `${window.innerWidth} ${phone.matches ? '' : window.innerHeight}`;
    let size = sizeOf();
    window.addEventListener('resize', () => {
        if (size === sizeOf()) return; // a phone's bars come and go
        size = sizeOf();
        clearTimeout(waiting);
        waiting = setTimeout(() => state.printing || draw(), 120);
    });
}

function start() {
    if (state.lesson) settle();
    else openHead();
    listen();
    listenToExport();
    for (const screen of SCREENS) screen.listen?.();
    listenToAddress();
    draw(!byId('engine')); // the cell of a link may lie outside the text of the page
    if (isPresenting()) focusView();
    if (byId('engine')) startLive();
}
