// Pages for everybody: axe-core finds nothing serious, at three widths, light and dark, and nothing
// is wider than a phone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import process from 'node:process';
import { LIFE, counts, plot, same, test, withPage, writePage, yes } from './harness.mjs';

const TABS = ['matrix', 'lines', 'model', 'text', 'space', 'bars', 'table', 'next', 'compare'];
const path = writePage('-s', LIFE, '-s', 'Life is Life', '--show', 'weights,context');
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

await test('every view of a phone scrolls nowhere but within', () =>
    withPage(
        path,
        async (page) => {
            for (const tab of TABS) {
                await page.click(`#view-${tab}`);
                if (tab === 'matrix') await plot(page).tap({ position: { x: 120, y: 150 } });
                yes(tab !== 'matrix' || (await page.isVisible('#why')), 'a tap explains nothing');
                const wider = await page.evaluate(
                    () => document.documentElement.scrollWidth - window.innerWidth,
                );
                yes(wider <= 0, `${tab} is ${wider} pixels too wide`);
            }
        },
        { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    ));
