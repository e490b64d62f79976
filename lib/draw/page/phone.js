// On a phone: the legend in the matrix, and buttons for what has no key.

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

function listenToPhone() {
    byId('edit').addEventListener('click', () => {
        const open = document.querySelector('header').classList.toggle('editing');
        byId('edit').setAttribute('aria-expanded', open);
        if (open) (byId('text').hidden ? byId('sentence') : byId('text')).focus();
    });
    byId('head-before').addEventListener('click', () => stepHead(-1));
    byId('head-after').addEventListener('click', () => stepHead(1));
}
