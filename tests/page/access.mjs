// Pages for everybody: axe-core finds nothing serious, at three widths, light and dark, and nothing
// is wider than a phone.
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
    plot,
    same,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const TABS = ['matrix', 'lines', 'model', 'text', 'space', 'table', 'next', 'compare'];
TABS.push('lens', 'walk');
const path = writePage('-s', LIFE, '-s', 'Life is Life', '--show', 'weights,context', '--lens');
const lesson = join(scratch, 'access.html');
execFileSync(attn, ['lesson', '-o', lesson]);
const STEPS = [0, 5, 11]; // a matrix, several, the walk
let axe = '';
try {
    axe = readFileSync(createRequire(`${process.env.MODULES}/`).resolve('axe-core'), 'utf8');
} catch {
    counts.skipped += 1;
    console.log('skipped: what axe-core says of pages: axe-core is not installed');
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
          [768, 'dark'],
          [1440, 'light'],
          [1440, 'dark'],
      ]
    : [])
    await test(`axe-core finds nothing serious: ${width} pixels, ${colorScheme}`, () =>
        withPage(
            path,
            async (page) => {
                for (const tab of TABS) {
                    await page.click(`#view-${tab}`);
                    same([], await serious(page), tab);
                }
                await page.click('#view-matrix');
                await plot(page).focus();
                await page.keyboard.press('ArrowRight');
                await page.keyboard.press('Enter');
                same([], await serious(page), 'why');
                await page.keyboard.press('w');
                same([], await serious(page), 'take away');
            },
            { viewport: { width, height: 850 }, colorScheme, bypassCSP: true },
        ));

for (const [width, colorScheme] of axe
    ? [
          [390, 'dark'],
          [768, 'light'],
          [1440, 'dark'],
      ]
    : [])
    await test(`axe-core finds nothing serious in a lesson: ${width} pixels, ${colorScheme}`, () =>
        withPage(
            lesson,
            async (page) => {
                for (const step of STEPS) {
                    await page.selectOption('#sentence', String(step));
                    await page.locator('.question summary').click();
                    same([], await serious(page), `step ${step + 1}`);
                }
                await page.locator('.node').nth(3).click();
                same([], await serious(page), 'a station');
            },
            { viewport: { width, height: 850 }, colorScheme, bypassCSP: true },
        ));

// The width that was given: a phone's own grows with what it shows.
async function fitsWindow(page, what) {
    const shown = await page.evaluate(() => document.documentElement.scrollWidth);
    const wider = shown - page.viewportSize().width;
    yes(wider <= 0, `${what} is ${wider} pixels too wide`);
}

await test('a lesson on a phone scrolls nowhere but within, and a tap opens its stations', () =>
    withPage(
        lesson,
        async (page) => {
            for (const step of [...Array(12).keys()]) {
                await page.selectOption('#sentence', String(step));
                await fitsWindow(page, `step ${step + 1}`);
            }
            await page.locator('.node', { hasText: 'mlp_act' }).last().tap();
            yes((await page.locator('.station h2').innerText()).startsWith('mlp_act'), 'no panel');
            const [node, panel] = [
                await boxOf(page.locator('.node[aria-pressed="true"]')),
                await boxOf(page.locator('.station')),
            ];
            const below = panel.y - node.y;
            yes(below > 0 && below < 200, `the panel is ${below} pixels below the station`);
            await fitsWindow(page, 'a station');
            await page.locator('.question summary').tap();
            yes(await page.isVisible('.question p'), 'a tap opens no answer');
        },
        { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    ));

await test('every view of a phone scrolls nowhere but within', () =>
    withPage(
        path,
        async (page) => {
            for (const tab of TABS) {
                await page.click(`#view-${tab}`);
                if (tab === 'matrix') await plot(page).tap({ position: { x: 120, y: 150 } });
                yes(tab !== 'matrix' || (await page.isVisible('#why')), 'a tap explains nothing');
                await fitsWindow(page, tab);
            }
        },
        { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    ));

await test('many heads scroll in a box of their own, and leave the page as wide as a window', () => {
    const model = join(scratch, 'heads');
    const sizes = 'n_layer=2,n_head=12,n_embd=48';
    execFileSync(attn, ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', LIFE, '-o', model]);
    return withPage(
        writePage('-m', model, LIFE),
        async (page) => {
            await page.click('#view-model');
            const last = page.locator('.grid button').last();
            yes((await boxOf(last)).x > 360, 'the window has room for all heads');
            await fitsWindow(page, 'the model');
            // A phone's window changes size as the page opens, and a redrawn grid has lost its focus.
            const seen = async () => {
                await last.focus();
                const { x, width } = await boxOf(last);
                return x >= 0 && x + width <= 360;
            };
            yes((await seen()) || (await seen()), 'the last head is outside the window');
            await page.emulateMedia({ media: 'print' });
            same('visible', await page.$eval('.grid', (grid) => getComputedStyle(grid).overflow));
        },
        { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true },
    );
});
