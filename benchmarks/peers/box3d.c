// Worlds of rigid bodies in Box3D: reads a world, then commands, from standard input; see box3d_bodies.py.
//
//   world SUBSTEPS DT GRAVITY THREADS SLEEP GROUND COLLIDE FRICTION
//   shapes N, each          box HX HY HZ | capsule RADIUS HALF | hull COUNT X Y Z ...
//   bodies N, each          KINEMATIC POSITION ROTATION VELOCITY SPIN DENSITY PIECES, each SHAPE POSITION ROTATION
//   joints N, each          KIND CHILD PARENT FRAME_IN_CHILD FRAME_IN_PARENT LEAST LARGEST
//   step N                  writes the seconds of each step
//   state                   writes position, rotation, velocity and spin of each body
//
// Positions are x y z, rotations w x y z; capsules lie along Y, joints turn about the Z of their frames.

#include "box3d/box3d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct
{
	char kind; // first letter of its name
	float a, b, c;
	int count;
	b3Vec3* points;
	b3HullData* hull;
} Shape;

static void fail( const char* what )
{
	fprintf( stderr, "box3d: cannot read %s\n", what );
	exit( 1 );
}

static float number( void )
{
	float value;
	if ( scanf( "%f", &value ) != 1 )
		fail( "a number" );
	return value;
}

static int whole( void )
{
	int value;
	if ( scanf( "%d", &value ) != 1 )
		fail( "a whole number" );
	return value;
}

static void word( char* text, const char* expected )
{
	if ( scanf( "%31s", text ) != 1 || ( expected && strcmp( text, expected ) != 0 ) )
		fail( expected ? expected : "a word" );
}

static b3Vec3 vector( void )
{
	b3Vec3 v;
	v.x = number();
	v.y = number();
	v.z = number();
	return v;
}

static b3Quat rotation( void )
{
	b3Quat q;
	q.s = number();
	q.v = vector();
	return q;
}

static b3Transform frame( void )
{
	b3Transform f;
	f.p = vector();
	f.q = rotation();
	return f;
}

static Shape read_shape( void )
{
	Shape shape = { 0 };
	char text[32];
	word( text, NULL );
	shape.kind = text[0];
	if ( shape.kind == 'b' )
	{
		shape.a = number();
		shape.b = number();
		shape.c = number();
	}
	else if ( shape.kind == 'c' )
	{
		shape.a = number();
		shape.b = number();
	}
	else
	{
		shape.count = whole();
		shape.points = malloc( shape.count * sizeof( b3Vec3 ) );
		for ( int i = 0; i < shape.count; ++i )
			shape.points[i] = vector();
		shape.hull = b3CreateHull( shape.points, shape.count, shape.count );
	}
	return shape;
}

static void add_piece( b3BodyId body, const b3ShapeDef* def, const Shape* shape, b3Transform at )
{
	if ( shape->kind == 'b' )
	{
		b3BoxHull box = b3MakeTransformedBoxHull( shape->a, shape->b, shape->c, at );
		b3CreateHullShape( body, def, &box.base );
	}
	else if ( shape->kind == 'h' )
	{
		b3CreateHullShape( body, def, shape->hull ); // alone in its body, at its origin
	}
	else
	{
		b3Vec3 half = b3RotateVector( at.q, ( b3Vec3 ){ 0.0f, shape->b, 0.0f } );
		if ( shape->b > 0.0f )
		{
			b3Capsule capsule = { b3Sub( at.p, half ), b3Add( at.p, half ), shape->a };
			b3CreateCapsuleShape( body, def, &capsule );
		}
		else
		{
			b3Sphere sphere = { at.p, shape->a };
			b3CreateSphereShape( body, def, &sphere );
		}
	}
}

static b3BodyId add_body( b3WorldId world, b3ShapeDef def, const Shape* shapes )
{
	b3BodyDef body = b3DefaultBodyDef();
	body.type = whole() ? b3_kinematicBody : b3_dynamicBody;
	body.position = vector();
	body.rotation = rotation();
	body.linearVelocity = vector();
	body.angularVelocity = vector();
	def.density = number();
	b3BodyId id = b3CreateBody( world, &body );
	int pieces = whole();
	for ( int k = 0; k < pieces; ++k )
	{
		int shape = whole();
		add_piece( id, &def, shapes + shape, frame() );
	}
	return id;
}

static void place( b3JointDef* joint, b3BodyId parent, b3Transform in_parent, b3BodyId child, b3Transform in_child )
{
	joint->bodyIdA = parent;
	joint->bodyIdB = child;
	joint->localFrameA = in_parent;
	joint->localFrameB = in_child;
}

static void add_joint( b3WorldId world, b3BodyId ground, const b3BodyId* bodies )
{
	char kind[32];
	word( kind, NULL );
	int child = whole(), parent = whole();
	b3Transform in_child = frame(), in_parent = frame();
	float least = number(), largest = number();
	if ( kind[0] == 'b' )
	{
		b3SphericalJointDef def = b3DefaultSphericalJointDef();
		place( &def.base, parent < 0 ? ground : bodies[parent], in_parent, bodies[child], in_child );
		def.enableConeLimit = isfinite( largest );
		def.coneAngle = isfinite( largest ) ? largest : 0.0f;
		b3CreateSphericalJoint( world, &def );
	}
	else
	{
		b3RevoluteJointDef def = b3DefaultRevoluteJointDef();
		place( &def.base, parent < 0 ? ground : bodies[parent], in_parent, bodies[child], in_child );
		def.enableLimit = isfinite( largest );
		def.lowerAngle = isfinite( largest ) ? least : 0.0f;
		def.upperAngle = isfinite( largest ) ? largest : 0.0f;
		b3CreateRevoluteJoint( world, &def );
	}
}

static double now( void )
{
	struct timespec t;
	clock_gettime( getenv( "PROCESSOR_TIME" ) ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t );
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void print_state( const b3BodyId* bodies, int count )
{
	for ( int i = 0; i < count; ++i )
	{
		b3Pos x = b3Body_GetPosition( bodies[i] );
		b3Quat q = b3Body_GetRotation( bodies[i] );
		b3Vec3 v = b3Body_GetLinearVelocity( bodies[i] ), w = b3Body_GetAngularVelocity( bodies[i] );
		printf( "%.9g %.9g %.9g %.9g %.9g %.9g %.9g ", x.x, x.y, x.z, q.s, q.v.x, q.v.y, q.v.z );
		printf( "%.9g %.9g %.9g %.9g %.9g %.9g\n", v.x, v.y, v.z, w.x, w.y, w.z );
	}
}

int main( void )
{
	char text[32];
	word( text, "world" );
	int substeps = whole();
	float dt = number();
	b3WorldDef def = b3DefaultWorldDef();
	def.gravity = ( b3Vec3 ){ 0.0f, -number(), 0.0f };
	def.workerCount = (uint32_t)whole();
	def.enableSleep = whole();
	int grounded = whole(), collide = whole();
	b3ShapeDef surface = b3DefaultShapeDef();
	surface.baseMaterial.friction = number();
	b3WorldId world = b3CreateWorld( &def );

	b3BodyDef still = b3DefaultBodyDef();
	still.position = ( b3Pos ){ 0.0f, -1.0f, 0.0f };
	b3BodyId ground = b3CreateBody( world, &still );
	if ( grounded )
	{
		b3BoxHull box = b3MakeBoxHull( 1000.0f, 1.0f, 1000.0f );
		b3CreateHullShape( ground, &surface, &box.base );
	}
	still.position = ( b3Pos ){ 0.0f, 0.0f, 0.0f };
	b3BodyId origin = b3CreateBody( world, &still );
	if ( !collide )
		surface.filter.maskBits = 0;

	word( text, "shapes" );
	int shape_count = whole();
	Shape* shapes = calloc( shape_count + 1, sizeof( Shape ) );
	for ( int i = 0; i < shape_count; ++i )
		shapes[i] = read_shape();
	word( text, "bodies" );
	int count = whole();
	b3BodyId* bodies = calloc( count + 1, sizeof( b3BodyId ) );
	for ( int i = 0; i < count; ++i )
		bodies[i] = add_body( world, surface, shapes );
	word( text, "joints" );
	int joints = whole();
	for ( int i = 0; i < joints; ++i )
		add_joint( world, origin, bodies );

	while ( scanf( "%31s", text ) == 1 )
	{
		if ( strcmp( text, "state" ) == 0 )
			print_state( bodies, count );
		else
		{
			for ( int steps = whole(); steps > 0; --steps )
			{
				double begun = now();
				b3World_Step( world, dt, substeps );
				printf( "%.9g\n", now() - begun );
			}
		}
		fflush( stdout );
	}
	b3DestroyWorld( world );
	return 0;
}
