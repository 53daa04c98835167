/** Lazily loaded parts of the first page, in one chunk. */
export { DemoIntroduction } from '../demo/demo.tsx'
export { HomeView } from './home-view.tsx'
