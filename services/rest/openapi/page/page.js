// Shows the OpenAPI document with Swagger UI, and fills in the ID of a material that a response named.

const WITH_MATERIAL_ID = ['/reviews/{materialId}', '/materials/{materialId}/snooze'];

const ui = window.SwaggerUIBundle({
  dom_id: '#swagger-ui',
  url: '/openapi.json',
  deepLinking: true,
  // No online validator badge, which would send this address to a third party.
  validatorUrl: null,
  responseInterceptor: fillMaterialId,
});

/** Takes the first material of a response. */
function fillMaterialId(response) {
  const { material, materials } = response.body ?? {};
  const id = (material ?? materials?.[0])?.id;
  if (id !== undefined) {
    for (const path of WITH_MATERIAL_ID) {
      ui.specActions.changeParam([path, 'post'], 'materialId', 'path', id);
    }
  }
  return response;
}
