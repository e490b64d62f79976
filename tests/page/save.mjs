// What is taken away: pictures, numbers, command lines, addresses.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
    LIFE,
    attn,
    plot,
    readout,
    run,
    same,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

// What a button of the dialog gives, as a file; blobs are the page's own.
async function take(page, kind) {
    const coming = page.waitForEvent('download');
    await page.keyboard.press('w');
    await page.click(`#save-${kind}`);
    const path = join(scratch, `taken.${kind}`);
    await (await coming).saveAs(path);
    return readFileSync(path);
}

const ODD_TEXT = `it's "short", $HOME`;

await test('CSV is that of the command line, byte for byte', () =>
    withPage(writePage('-s', ODD_TEXT, '--show', 'weights,masked,context'), async (page) => {
        for (const [tensor, layer, head] of [
            ['weights', 0, 1],
            ['masked', 1, 3],
            ['context', 0, 2],
        ]) {
            await page.selectOption('#tensor', tensor);
            await page.selectOption('#layer', String(layer));
            await page.click(`.head[data-head="${head}"]`);
            const where = ['--show', tensor, '--layer', `${layer}`, '--head', `${head}`];
            const expected = run('-s', ODD_TEXT, ...where, '--format', 'csv').toString();
            same(expected, (await take(page, 'csv')).toString());
        }
    }));

// What a PNG shows, as the page's own browser reads it: its size, and how many colours it has.
const readPng = (page, png) =>
    page.evaluate(async (base64) => {
        const image = new Image();
        image.src = `data:image/png;base64,${base64}`;
        await image.decode();
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext('2d');
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, 0, image.width, image.height);
        return {
            width: image.width,
            colours: new Set(new Uint32Array(data.buffer)).size,
        };
    }, png.toString('base64'));

await test('PNG has twice the points of the page, and every view is a picture', () =>
    withPage(writePage('-s', LIFE, '--show', 'weights,context', '--lens'), async (page) => {
        for (const tab of await page.$$eval('#views button:enabled', (all) =>
            all.map((one) => one.id),
        )) {
            await page.click(`#${tab}`);
            const width = await page.locator('#stage').evaluate((stage) => stage.offsetWidth);
            const png = await readPng(page, await take(page, 'png'));
            yes(png.width >= 2 * width, `${tab} is ${png.width} wide`);
            yes(png.colours > 20, `${tab} is empty`);
        }
    }));

await test('the command line makes what is shown', () =>
    withPage(writePage('-s', ODD_TEXT, '--scale', '0.25', '--ablate', '0.1'), async (page) => {
        await page.selectOption('#layer', '1');
        await page.click('.head[data-head="2"]');
        await page.click('#view-table');
        await page.keyboard.press('w');
        const line = await page.locator('#save code').innerText();
        await page.keyboard.press('Escape');
        const made = execFileSync('sh', ['-c', line.replace('attn-cli', `${attn}`)]).toString();
        same(made, (await take(page, 'csv')).toString());
        await page.click('#view-lines');
        await page.keyboard.press('s');
        await page.click('#take');
        const drawn = await page.locator('#save code').innerText();
        execFileSync('sh', ['-c', drawn.replace('attn-cli', attn)], { cwd: scratch });
        yes(readFileSync(join(scratch, 'picture.svg')).includes('<svg'), drawn);
        yes(drawn.includes('--view lines --color-scale sqrt'), drawn);
    }));

await test('Esc closes a dialog, and keys do nothing below it', () =>
    withPage(writePage('-s', LIFE), async (page) => {
        for (const [key, id] of [
            ['w', 'save'],
            ['?', 'keys'],
        ]) {
            await page.keyboard.press(key);
            yes(await page.isVisible(`#${id}`), `${key} opens nothing`);
            await page.keyboard.press('ArrowDown');
            same('0', await page.locator('#layer').inputValue());
            await page.keyboard.press('Escape');
            yes(!(await page.isVisible(`#${id}`)), `Esc does not close what ${key} opens`);
            await page.locator('dialog:focus, dialog :focus').waitFor({ state: 'detached' });
        }
    }));

await test('an address opens the same view again', async () => {
    const path = writePage('-s', LIFE, '-s', 'Life is Life');
    let hash = '';
    let said = '';
    await withPage(path, async (page) => {
        same('', await page.evaluate(() => location.hash));
        await page.selectOption('#sentence', '1');
        await page.selectOption('#layer', '1');
        await page.click('.head[data-head="3"]');
        await page.selectOption('#scale', 'log');
        await plot(page).focus();
        for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter'])
            await page.keyboard.press(key);
        said = await readout(page);
        yes(said.startsWith('0.'), said);
        hash = await page.evaluate(() => location.hash);
        await page.evaluate((old) => {
            location.hash = 'layer=0&head=7&view=nonsense&sentence=9&scale=x';
            setTimeout(() => (location.hash = old), 100);
        }, hash);
        await page.waitForTimeout(300);
        same(said, await readout(page));
        await page.evaluate(() => window.history.replaceState(null, '', '#'));
    });
    await withPage(`${path}`, async (page) => {
        await page.evaluate((old) => (location.hash = old), hash);
        await page.waitForTimeout(100);
        same(
            ['1', '1', 'log'],
            await page.$$eval('#sentence, #layer, #scale', (all) => all.map((one) => one.value)),
        );
        same(said, await readout(page));
        yes(await page.isVisible('#why'), 'the cell is not explained');
    });
});
