/**
 * The tests of the page that need a browser stand behind this one file, so that they share it.
 */
import { withBrowser } from './browser-fixture.ts';
import './pages-in-browser.ts';
import './conditions-in-browser.ts';

withBrowser();
