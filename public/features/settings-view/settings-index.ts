/** Every setting by name, for the palette and the search field of the settings. */
import type { SettingName } from '../../../lib/base/settings.ts'
import { t as inPlace } from '../settings/command-place-strings.ts'
import { t as inIdentity } from '../identity/strings.ts'
import { t as inNotifications } from '../notifications/strings.ts'
import { t as inShares } from '../shares/strings.ts'
import { t as inPeople } from '../people/strings.ts'
import { t as inModels } from '../models/strings.ts'
import { t as inBackups } from '../backups/strings.ts'
import { t as inUpdates } from '../updates/strings.ts'
import { t as inRules } from '../settings/permission-strings.ts'
import { hintOf, labelOf, shownSettings } from '../settings/shown-settings.ts'
import { mayChange, type SettingsPart, sectionOf } from './sections.ts'
import { words } from '../palette/words-strings.ts'
import { t } from '../settings/strings.ts'

export type SettingEntry = {
  part: SettingsPart
  /** The label or heading of the setting on its page. */
  label: string
  /** What it does, if the page explains it. */
  hint: string
  /** Other words for it. */
  words: string
}

const entry = (part: SettingsPart, label: string, hint = '', other = ''): SettingEntry => ({
  part,
  label,
  hint,
  words: other,
})

/** Other words for some of the settings. */
const otherWords = (): Partial<Record<SettingName, string>> => ({
  language: words('language'),
  send_key: words('enter'),
  theme: words('appearance'),
  font_size: words('font'),
  density: words('density'),
})

const tableEntries = (section: 'general' | 'appearance'): SettingEntry[] =>
  shownSettings(section).map(name =>
    entry(
      section === 'general' ? 'rows' : section,
      labelOf(name),
      hintOf(name),
      otherWords()[name],
    ),
  )

/** Those that the person may change, each with its section. */
export const settingEntries = () =>
  everyEntry()
    .filter(({ part }) => mayChange(part))
    .map(one => ({ ...one, section: sectionOf(one.part) }))

const everyEntry = (): SettingEntry[] => [
  ...tableEntries('general'),
  entry('models', t('settings.default_model'), t('settings.default_model.hint')),
  entry('models', inModels('keys.title'), inModels('keys.lead')),
  entry('models', inModels('add.title')),
  entry('models', inModels('local.title'), inModels('local.lead')),
  entry('people', inPeople('people.role'), inPeople('people.lead')),
  entry('people', inPeople('people.name')),
  entry('people', inPeople('people.profiles')),
  ...tableEntries('appearance'),
  entry('notifications', inNotifications('notify.device')),
  entry('notifications', inNotifications('notify.on')),
  entry('notifications', inNotifications('notify.kinds')),
  entry('notifications', inNotifications('notify.quiet')),
  entry('notifications', inNotifications('notify.quiet.on')),
  entry('notifications', inNotifications('notify.quiet.urgent')),
  entry('notifications', inNotifications('notify.privacy')),
  entry('notifications', inNotifications('notify.content')),
  entry('notifications', inNotifications('notify.risky')),
  entry('notifications', inNotifications('notify.devices')),
  entry('notifications', inNotifications('notify.services')),
  entry('notifications', inNotifications('notify.profiles')),
  entry('account', t('settings.password.disable'), t('settings.password.disable.hint')),
  entry('account', t('settings.password'), t('settings.password.set')),
  entry('account', t('settings.password.new')),
  entry('account', inIdentity('pair.row'), inIdentity('pair.row.hint')),
  entry('account', inIdentity('devices.title')),
  entry('account', inIdentity('passkeys.title'), inIdentity('passkeys.text')),
  entry('account', inIdentity('passkeys.add')),
  entry('account', inIdentity('linked.title')),
  entry('account', inIdentity('codes.label')),
  entry('account', inIdentity('codes.recovery')),
  entry('activity', inIdentity('activity.filter'), inIdentity('activity.text')),
  entry('account', inIdentity('codes.title'), inIdentity('codes.hint')),
  entry('activity', inIdentity('activity.title'), inIdentity('activity.text')),
  entry('account', inIdentity('devices.others'), inIdentity('devices.others.hint')),
  entry('account', t('settings.signout'), t('settings.signout.hint')),
  entry('programs', t('api.title'), t('api.enable')),
  entry('programs', inShares('share.settings'), inShares('share.allow')),
  entry('hooks', t('hooks.title'), t('hooks.text')),
  entry('safety', t('settings.changed')),
  entry('safety', t('settings.safety')),
  entry('safety', t('settings.ignored')),
  entry('commands', t('allowed.title'), t('allowed.text')),
  entry('commands', inRules('rules.title')),
  entry('commands', inPlace('place.title')),
  entry('commands', inPlace('place.sandbox.label')),
  entry('commands', inPlace('place.outside.label')),
  entry('commands', inPlace('place.network.label')),
  entry('budgets', t('budget.turn'), t('budget.turn.hint')),
  entry('budgets', t('budget.session'), t('budget.session.hint')),
  entry('budgets', t('budget.day')),
  entry('budgets', t('budget.steps'), t('budget.steps.hint')),
  entry('backups', inBackups('backups.now'), inBackups('backups.lead')),
  entry('backups', inBackups('backups.dir'), inBackups('backups.dir.hint')),
  entry('backups', inBackups('backups.files')),
  entry('updates', inUpdates('check.auto'), inUpdates('check.auto.hint')),
]

const WAIT_MS = 3_000

/**
 * Scrolls to a setting and focuses its control. Settings are found by their label, because most sections load later; gives up
 * after three seconds, for a setting that this server does not show.
 */
export const revealSetting = (label: string): void => {
  const find = (): HTMLElement | undefined =>
    [
      ...document.querySelectorAll<HTMLElement>(
        '.settings-body :is(label, h3, button, legend, .field-label)',
      ),
    ].find(element => element.textContent?.trim() === label)
  const show = (): boolean => {
    const element = find()
    // What is not shown yet cannot have the focus.
    if (!element || element.closest('[data-late]')) return false
    const row = element.closest<HTMLElement>('.field') ?? element
    row.scrollIntoView({ block: 'center' })
    row.classList.add('field-found')
    const control =
      element instanceof HTMLLabelElement
        ? document.getElementById(element.htmlFor)
        : element.closest('.field, fieldset')?.querySelector<HTMLElement>('input:checked')
    const target = control ?? element
    if (!control && !(element instanceof HTMLButtonElement)) element.tabIndex = -1
    target.focus({ preventScroll: true })
    return true
  }
  if (show()) return
  const observer = new MutationObserver(() => show() && observer.disconnect())
  observer.observe(document.getElementById('main') ?? document.body, {
    childList: true,
    subtree: true,
    attributeFilter: ['data-late'],
  })
  setTimeout(() => observer.disconnect(), WAIT_MS)
}
