// What a reminder says by e-mail: subject, plain text and HTML. Names and titles stand in the bodies only, never in a header.
import type { ReminderMessage } from './channel.ts';
import { dueSentence, toLine, toTitle } from './message-text.ts';

type EmailText = { subject: string; text: string; html: string };
/** `appUrl`: undefined for a mail without a link to the learning app. */
export type EmailStyle = { appUrl: string | undefined; showTitles: boolean };

const MAX_NAME = 100;
const MAX_TITLE = 120;
const MAX_TITLES = 5;

/** Controls in names and titles become spaces; long ones are cut. */
export function toEmailText(message: ReminderMessage, { appUrl, showTitles }: EmailStyle): EmailText {
  const sentence = dueSentence(message.dueCount);
  const name = toLine(message.firstName, MAX_NAME);
  const greeting = name === '' ? 'Hello,' : `Hello ${name},`;
  const said = message.isTest ? `This is a test. ${sentence} for review.` : `${sentence} for review.`;
  const titles = showTitles
    ? message.titles.slice(0, MAX_TITLES).map((title) => toTitle(title, MAX_TITLE))
    : [];
  const more = message.dueCount - titles.length;
  const others = titles.length > 0 && more > 0 ? 'and more' : undefined;
  const footer = 'You get this e-mail because you set a reminder.';
  return {
    subject: `${message.isTest ? 'Test: ' : ''}${sentence} for review`,
    text: [
      [greeting],
      [said],
      [...titles.map((title) => `- ${title}`), ...(others ? [others] : [])],
      appUrl === undefined ? [] : [`Review now: ${appUrl}`],
      ['-- ', footer, `Stop reminders by e-mail: ${message.unsubscribeUrl}`],
    ]
      .filter((lines) => lines.length > 0)
      .map((lines) => `${lines.join('\n')}\n`)
      .join('\n'),
    html: [
      '<!doctype html>',
      '<html lang="en"><head><meta charset="utf-8"><title>Reminder</title></head><body>',
      `<p>${escapeHtml(greeting)}</p>`,
      `<p>${escapeHtml(said)}</p>`,
      ...(titles.length > 0
        ? ['<ul>', ...titles.map((title) => `<li dir="auto">${escapeHtml(title)}</li>`), '</ul>']
        : []),
      ...(others ? [`<p>${others}</p>`] : []),
      ...(appUrl === undefined ? [] : [`<p><a href="${escapeHtml(appUrl)}">Review now</a></p>`]),
      `<p><small>${footer} <a href="${escapeHtml(message.unsubscribeUrl)}">Stop reminders by e-mail</a></small></p>`,
      '</body></html>',
      '',
    ].join('\n'),
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attribute values in double quotes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
