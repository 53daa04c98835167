/** Settings → Access: who may use this server, with which role and profiles, and inviting others. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { OWNER_NAME } from '../../../lib/base/owner-name.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Role } from '../../../lib/schema/person.ts'
import type { Api } from '../../../router.ts'
import { useProfiles, useShell } from '../../contexts.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Row } from '../../parts/field.tsx'
import { Field, Form, FormActions, SelectField, TextField } from '../../parts/form.tsx'
import { confirmed, type Shell } from '../identity/confirm-password.tsx'
import { QrCode } from '../identity/qr-code.tsx'
import { t } from './strings.ts'

type Person = Api['GET /api/people']['output']['people'][number]
type PersonInput = { name: string; role: Role; profiles: string[]; sign_in_as: string }

const ROLES: readonly Role[] = ['member', 'viewer', 'owner']

const hintOf = ({ role, profiles, joined, invited_until }: Person): string =>
  [
    t(`people.role.${role}`),
    ...(profiles === null ? [] : [profiles.join(', ') || t('people.none')]),
    ...(invited_until !== null ? [t('people.invited')] : joined ? [] : [t('people.expired')]),
  ].join(' · ')

const inLanguage = (people: readonly Person[]): Person[] =>
  people.map(person =>
    person.first && person.name === OWNER_NAME
      ? { ...person, name: t('people.role.owner') }
      : person,
  )

const showLink = (shell: Shell, name: string, code: string): void => {
  const link = new URL(`login#invite=${code}`, document.baseURI).href
  const close = () => {
    shell.layout.overlay.value = null
  }
  shell.layout.overlay.value = (
    <Dialog title={t('people.link.title', { name })} onClose={close}>
      <div class="pair-body">
        <p>{t('people.link.text', { name })}</p>
        <div class="pair-link">
          <QrCode text={link} label={t('people.link.qr')} />
          <CopyButton text={link} label={t('people.link.copy')} />
        </div>
        <FormActions>
          <Button kind="primary" onClick={close}>
            {t('people.link.done')}
          </Button>
        </FormActions>
      </div>
    </Dialog>
  )
}

type FormProps = {
  person: Person | null
  save: (input: PersonInput) => Promise<void>
  onCancel: () => void
}

const PersonForm = ({ person, save, onCancel }: FormProps) => {
  const profiles = useProfiles()
  useEffect(() => void profiles.refresh(), [])
  const name = useSignal(person?.name ?? '')
  const role = useSignal<Role>(person?.role ?? 'member')
  /** Null: not chosen yet. Of one profile there is no choice. */
  const selection = useSignal<readonly string[] | null>(person ? (person.profiles ?? []) : null)
  const only = profiles.list.value.length === 1 ? profiles.list.value.map(each => each.name) : []
  const profileNames = selection.value ?? only
  const signInAs = useSignal(person?.sign_in_as ?? '')
  const submit = () =>
    save({
      name: name.value.trim(),
      role: role.value,
      profiles: [...profileNames],
      // Never of an owner: an address alone must not make one.
      sign_in_as: role.value === 'owner' ? '' : signInAs.value.trim(),
    })
  const toggle = (profile: string, isGiven: boolean) => {
    const others = profileNames.filter(each => each !== profile)
    selection.value = isGiven ? [...others, profile] : others
  }
  return (
    <Form
      submit={t(person ? 'people.save' : 'people.invite')}
      isIncomplete={name.value.trim() === ''}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextField label={t('people.name')} maxLength={60} autofocus text={name} />
      {!person?.first && (
        <SelectField
          label={t('people.role')}
          hint={t(`people.role.hint.${role.value}`)}
          choice={role}
          options={ROLES.map(each => [each, t(`people.role.${each}`)] as const)}
        />
      )}
      {role.value !== 'owner' && (
        <Field
          group
          label={t('people.profiles')}
          control={() =>
            profiles.list.value.map(profile => (
              <label key={profile.name} class="people-profile">
                <input
                  type="checkbox"
                  checked={profileNames.includes(profile.name)}
                  onChange={event => toggle(profile.name, event.currentTarget.checked)}
                />
                <span>{visibleName(profile.name)}</span>
              </label>
            ))
          }
        />
      )}
      {role.value !== 'owner' && (
        <TextField
          label={t('people.sign_in_as')}
          hint={t('people.sign_in_as.hint')}
          dir="ltr"
          maxLength={320}
          text={signInAs}
        />
      )}
    </Form>
  )
}

export const PeopleSettings = () => {
  const shell = useShell()
  const { attempt, api, layout, toasts } = shell
  const people = useSignal<readonly Person[]>([])
  /** Id of the person who is edited; empty: one who is invited. */
  const editing = useSignal<string | null>(null)
  const load = () =>
    attempt(async () => {
      people.value = inLanguage((await api('GET /api/people')).people)
    })
  useEffect(() => void load(), [])
  const close = () => {
    editing.value = null
  }

  const invite = (input: PersonInput) =>
    attempt(async () => {
      const invitation = await confirmed(shell, password =>
        api('POST /api/people/invite', { ...input, password }),
      )
      if (!invitation) return
      close()
      await load()
      showLink(shell, input.name, invitation.code)
    })
  const renew = ({ id, name }: Person) =>
    attempt(async () => {
      const invitation = await confirmed(shell, password =>
        api('POST /api/people/renew', { id, password }),
      )
      if (!invitation) return
      await load()
      showLink(shell, name, invitation.code)
    })
  const change = (person: Person, { name, ...others }: PersonInput) =>
    attempt(async () => {
      const what = person.first ? { name } : { name, ...others }
      const reply = await confirmed(shell, password =>
        api('POST /api/people/change', { id: person.id, ...what, password }),
      )
      if (!reply) return
      people.value = inLanguage(reply.people)
      close()
    })
  const askRemove = ({ id, name }: Person) => {
    layout.confirmation.value = {
      title: t('people.remove.title', { name }),
      text: t('people.remove.text'),
      confirm: t('people.remove.yes'),
      danger: true,
      async run() {
        const reply = await confirmed(shell, password =>
          api('POST /api/people/remove', { id, password }),
        )
        if (!reply) return
        people.value = inLanguage(reply.people)
        toasts.show(t('people.removed', { name }))
      },
    }
  }

  return (
    <>
      <p class="view-lead">{t('people.lead')}</p>
      <div class="rows people-rows">
        {people.value.map(person =>
          person.id === editing.value ? (
            <div key={person.id} class="people-edited">
              <PersonForm person={person} save={input => change(person, input)} onCancel={close} />
            </div>
          ) : (
            <Row
              key={person.id}
              label={
                person.current
                  ? t('people.you', { name: visibleName(person.name) })
                  : visibleName(person.name)
              }
              hint={hintOf(person)}
              control={ids => (
                <>
                  {!person.first && (
                    <Button onClick={() => void renew(person)}>{t('people.link.new')}</Button>
                  )}
                  <IconButton
                    id={ids.control}
                    icon="edit"
                    label={t('people.edit', { name: person.name })}
                    onClick={() => {
                      editing.value = person.id
                    }}
                  />
                  {!person.first && (
                    <IconButton
                      icon="trash"
                      label={t('people.remove', { name: person.name })}
                      onClick={() => askRemove(person)}
                    />
                  )}
                </>
              )}
            />
          ),
        )}
      </div>
      {editing.value === '' ? (
        <div class="view-part">
          <PersonForm person={null} save={invite} onCancel={close} />
        </div>
      ) : (
        <div class="button-row">
          <Button
            onClick={() => {
              editing.value = ''
            }}
          >
            {t('people.invite')}
          </Button>
        </div>
      )}
    </>
  )
}
