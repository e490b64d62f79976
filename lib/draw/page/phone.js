// On a phone: a bottom sheet with the sentence about heads and the panels that do not fit.

const PANELS = {
    heads: ['heads-panel', 'profile'],
    layers: ['layers'],
    run: ['run-panel'],
    numbers: ['numbers'],
    export: [],
};
const HOMES = {
    ...{ 'heads-panel': 'left', profile: 'left', 'run-panel': 'left' },
    ...{ layers: 'right', numbers: 'middle', roles: 'said', pinned: 'said' },
};

// The legend in the masked triangle, or below the matrix.
function placeLegend() {
    const legend = byId('legend');
    if (!phone.matches) {
        document.querySelector('footer').prepend(legend);
        return;
    }
    const { matrix } = views;
    const fits =
        matrix?.tensor.causal && matrix.down - matrix.top > 240 && !matrix.tensor.isDifference;
    byId('stage').after(legend);
    legend.classList.toggle('in-triangle', fits);
    legend.style.top = fits ? `${byId('stage').offsetTop + matrix.top + 12}px` : '';
}

// Panels are moved between the columns and the sheet.
function placePanels() {
    const small = phone.matches;
    byId('sheet').hidden = !small;
    for (const [id, home] of Object.entries(HOMES)) {
        const head = id === 'roles' || id === 'pinned';
        const sheet = byId(head ? 'sheet-head' : 'sheet-body');
        (small ? sheet : byId(home)).append(byId(id));
    }
    if (small) byId('line').append(byId('live-note'));
    else byId('command').before(byId('live-note'));
    closeSheet();
}

function showPanel(name) {
    if (name === 'export') return openExport();
    const ids = PANELS[name];
    for (const part of byId('sheet-body').children)
        part.classList.toggle('shown', ids.includes(part.id));
    byId('sheet').dataset.panel = name;
    byId('sheet').classList.add('open');
    if (name === 'numbers') byId('numbers').open = true;
    for (const button of byId('sheet-tabs').children)
        button.setAttribute('aria-expanded', button.dataset.panel === name);
    return byId('sheet-body').focus();
}

function closeSheet() {
    byId('sheet').classList.remove('open', 'full');
    for (const button of byId('sheet-tabs').children) button.setAttribute('aria-expanded', false);
}

// Swiping up opens the sheet to half, then fully; swiping down closes it.
function listenToSheet() {
    const sheet = byId('sheet');
    for (const name of Object.keys(PANELS)) {
        const words = name[0].toUpperCase() + name.slice(1);
        const open = () =>
            sheet.dataset.panel === name && sheet.classList.contains('open')
                ? closeSheet()
                : showPanel(name);
        byId('sheet-tabs').append(buttonFor(open, words, '', { 'data-panel': name }));
    }
    byId('edit').addEventListener('click', () => {
        const open = document.querySelector('header').classList.toggle('editing');
        byId('edit').setAttribute('aria-expanded', open);
        if (open) (byId('text').hidden ? byId('sentence') : byId('text')).focus();
    });
    byId('head-before').addEventListener('click', () => stepHead(-1));
    byId('head-after').addEventListener('click', () => stepHead(1));
    let from = null;
    const handle = byId('sheet-handle');
    const pull = (up) => {
        if (!up) closeSheet();
        else if (sheet.classList.contains('open')) sheet.classList.add('full');
        else showPanel(sheet.dataset.panel || 'heads');
    };
    handle.addEventListener('click', () => pull(!sheet.classList.contains('full')));
    sheet.addEventListener('pointerdown', (event) => (from = event.clientY));
    sheet.addEventListener('pointerup', (event) => {
        const by = from === null ? 0 : event.clientY - from;
        const scrolled = byId('sheet-body').scrollTop > 0;
        if (Math.abs(by) > 40 && !(by > 0 && scrolled)) pull(by < 0);
        from = null;
    });
}
