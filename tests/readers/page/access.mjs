// Accessibility of pages: axe-core finds no serious violation at four widths, light and dark; a
// screen reader reads every name and role once; no page is wider than a phone.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    attn,
    boxOf,
    counts,
    drawn,
    go,
    matrix,
    same,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';
import { REPEAT } from './tasks.mjs';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const path = writePage('-s', REPEAT, '-s', `${REPEAT} door`, '--show', 'weights,context', '--lens');
const alike = writePage('-s', REPEAT, '-s', REPEAT.replace('door', 'tree'));
const lesson = join(scratch, 'access.html');
execFileSync(attn, ['lesson', '-o', lesson]);
const STEPS = [0, 3, 5, 6, 7, 13, 14, 15, 16, 17]; // arrows … BERT, why, state, scale, walk
let axe = '';
try {
    axe = readFileSync(createRequire(`${process.env.MODULES}/`).resolve('axe-core'), 'utf8');
} catch {
    counts.skipped += 1;
    console.log('skipped: pages checked by axe-core: axe-core is not installed');
}

async function serious(page) {
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run());
    return found.violations
        .filter((one) => ['serious', 'critical'].includes(one.impact))
        .flatMap((one) =>
            one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary}`),
        );
}

for (const [width, colorScheme] of axe
    ? [
          [390, 'light'],
          [1024, 'dark'],
          [1440, 'light'],
          [1440, 'dark'],
      ]
    : [])
    await test(`axe-core finds nothing serious: ${width} pixels, ${colorScheme}`, () =>
        withPage(
            path,
            async (page) => {
                same([], await serious(page), 'as it opens');
                await go(page, 'head=1.1&cell=14,7&why=1');
                await drawn(page);
                same([], await serious(page), 'why');
                await go(page, 'pin=1');
                await page.click('#numbers summary');
                same([], await serious(page), 'compared, with numbers');
                for (const hash of ['token=9', 'form=rows']) {
                    await go(page, hash);
                    same([], await serious(page), hash);
                }
                await go(page, 'show=context');
                await page.keyboard.press('e');
                same([], await serious(page), 'export');
            },
            { viewport: { width, height: 850 }, colorScheme, bypassCSP: true },
        ));

for (const [width, colorScheme] of axe
    ? [
          [390, 'dark'],
          [1440, 'light'],
      ]
    : [])
    await test(`axe-core finds nothing serious in a lesson: ${width} pixels, ${colorScheme}`, () =>
        withPage(
            lesson,
            async (page) => {
                if (width < 700) await page.click('#edit');
                for (const step of STEPS) {
                    await page.selectOption('#sentence', String(step));
                    await page.locator('.question summary').click();
                    same([], await serious(page), `step ${step + 1}`);
                }
            },
            { viewport: { width, height: 850 }, colorScheme, bypassCSP: true },
        ));

// One line per element, such as "button 1.1".
function linesOf(node) {
    return [`${node.role} ${node.name}`, ...(node.children || []).flatMap(linesOf)];
}

await test('the accessibility tree contains every part with its name and role', () =>
    withPage(path, async (page) => {
        const tree = linesOf(await page.accessibility.snapshot({ interestingOnly: false }));
        for (const part of [
            'button Skip to the view',
            'heading tiny',
            'combobox Text',
            'group Tokens',
            'button red',
            'heading After “old” the model says “door” 86 %',
            'button L1H1',
            'group All heads by layer',
            'button L0H1, previous token',
            'heading L1H0 induction head',
            'application Matrix of weights L1H0',
            'button Why this number? Enter',
            'list Most likely tokens',
            'table How it came about',
            'rowheader attention 1',
            'combobox Compare with',
            'group Legend',
        ])
            yes(
                tree.some((line) => line.startsWith(part)),
                `${part} is not in\n${tree.join('\n').slice(0, 3000)}`,
            );
    }));

await test('names describe the matrix without repetition, and no mark has the role deletion', () =>
    withPage(alike, async (page) => {
        await go(page, 'sentence=1&pin=0&head=1.1');
        const tree = linesOf(await page.accessibility.snapshot({ interestingOnly: false }));
        const found = (start) => tree.filter((line) => line.startsWith(start)).length;
        same(1, found('application Matrix of weights L1H1: query by key'));
        same(0, found('deletion'));
        same(1, found('button L0H1, previous token'));
        yes(!tree.some((line) => /^\S+ (L0H1|mixed)$/.test(line)), 'captions repeat names');
    }));

await test('text on every colour of the scale has a contrast of at least 4.5', () =>
    withPage(path, async (page) => {
        const luminance = ([r, g, b]) =>
            [r, g, b]
                .map((byte) => byte / 255)
                .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        for (const theme of ['light', 'dark']) {
            await go(page, `theme=${theme}`);
            const ramp = await page
                .locator('#legend .ramp')
                .evaluate((one) => [...one.getContext('2d').getImageData(0, 0, 255, 1).data]);
            for (let i = 0; i < 255; i++) {
                const light = luminance(ramp.slice(4 * i, 4 * i + 3));
                const best = Math.max(1.05 / (light + 0.05), (light + 0.05) / 0.05);
                yes(best >= 4.5, `level ${i} of ${theme}: ${best}`);
            }
        }
    }));

// Compares with the width that was set: the window width of a phone grows with its content.
async function fitsWindow(page, what) {
    const shown = await page.evaluate(() => document.documentElement.scrollWidth);
    const wider = shown - page.viewportSize().width;
    yes(wider <= 0, `${what} is ${wider} pixels too wide`);
}

await test('a lesson fits the width of a phone', () =>
    withPage(
        lesson,
        async (page) => {
            await page.tap('#edit');
            for (const step of [...Array(18).keys()]) {
                await page.selectOption('#sentence', String(step));
                await fitsWindow(page, `step ${step + 1}`);
            }
            await page.locator('.question summary').tap();
            yes(await page.isVisible('.question p'), 'a tap opens no answer');
        },
        PHONE,
    ));

await test('a phone shows the matrix first, other parts below it, and a tap selects a cell', () =>
    withPage(
        path,
        async (page) => {
            const box = await boxOf(page.locator('#stage'));
            yes(box.y < 700, `the matrix begins at ${box.y}`);
            await matrix(page).tap({ position: { x: 60, y: 330 } });
            await page.tap('#why-button');
            yes(await page.isVisible('#why .verdict'), 'a tap explains nothing');
            await fitsWindow(page, 'why');
            await page.tap('#why .close');
            let above = box.y;
            for (const part of ['#numbers', '#bars', '#grid', '#layer-rows']) {
                const { y } = await boxOf(page.locator(part));
                yes(y > above, `${part} is at ${y}, above ${above}`);
                above = y;
            }
            await page.tap('#numbers summary');
            await fitsWindow(page, 'the numbers');
            await page.context().grantPermissions(['clipboard-write']);
            await page.tap('#copy-link');
            await page.getByText('Copied', { exact: true }).waitFor();
            await fitsWindow(page, 'the copied link');
        },
        PHONE,
    ));

await test('a phone shows a short legend and all of Why', () =>
    withPage(
        alike,
        async (page) => {
            await go(page, 'sentence=1&pin=0');
            const legend = await boxOf(page.locator('#legend'));
            yes(legend.width > 150 && legend.height < 80, JSON.stringify(legend));
            same('Why?', (await page.innerText('#why-button')).trim());
            await page.tap('#why-button');
            await drawn(page);
            yes(!(await page.isVisible('#why kbd')), 'a phone has no Esc');
            yes((await boxOf(page.locator('#why'))).y <= 60, 'it begins below the header');
        },
        PHONE,
    ));

await test('at 1024 pixels Why leaves the matrix visible and scrolls to its verdict', () =>
    withPage(
        path,
        async (page) => {
            await go(page, 'head=1.1');
            await page.locator('#why-button').scrollIntoViewIfNeeded();
            await page.click('#why-button');
            await drawn(page);
            const [panel, cells] = [await boxOf(page.locator('#why')), await boxOf(matrix(page))];
            yes(panel.x >= cells.x + cells.width / 2, `${panel.x} ${cells.x + cells.width}`);
            const { y } = await boxOf(page.locator('#why .verdict'));
            yes(y >= 0 && y < 500, `the verdict is at ${y}`);
        },
        { viewport: { width: 1024, height: 768 } },
    ));

await test('a phone shows only buttons and parts that apply to the page', async () => {
    const buttons = (page) =>
        page.$$eval('.on-phone, #beside > section, #left > section, #compare-row', (all) =>
            all.flatMap((one) => (one.offsetWidth ? [one.id || one.textContent] : [])),
        );
    const heads = ['head-before', 'head-after'];
    const left = ['heads-panel'];
    for (const [words, expected] of [
        [[REPEAT], [...heads, 'right', ...left, 'more']],
        [[REPEAT, '--top', '0'], [...heads, ...left]],
        [['-m', 'life', LIFE, '--top', '0'], left],
        [[REPEAT, '-s', LIFE], ['edit', 'compare-row', ...heads, 'right', ...left, 'more']],
    ])
        await withPage(
            writePage(...words),
            async (page) => same(expected, await buttons(page), words.join(' ')),
            PHONE,
        );
});

await test('many heads scroll in their own box, and the page is no wider than the window', () => {
    const model = join(scratch, 'heads');
    const sizes = 'n_layer=12,n_head=12,n_embd=48';
    execFileSync(attn, ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', LIFE, '-o', model]);
    return withPage(
        writePage('-m', model, LIFE),
        async (page) => {
            await fitsWindow(page, 'the heads');
            same(144, await page.locator('.thumb').count());
            const last = page.locator('.thumb').last();
            await last.focus();
            const { x, width } = await boxOf(last);
            yes(x >= 0 && x + width <= 360, 'the last head is outside the window');
        },
        { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true },
    );
});
